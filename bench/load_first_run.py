"""Times load plus first run of models: from before InferenceSession(...) to after the first run(), imports excluded, each in a
fresh process, the engines in turn. Medians.

usage: load_first_run.py MODEL.onnx... [--engines onnxruntime trunnion] [--cache DIR] [--threads 1] [--repeat 3] [--dim N=64 ...]
--cache DIR adds a row of the first engine that knows it, with session.cache_dir set and its entry written before. Free
dimensions are 1, or what --dim says. Float inputs are normal, integers and bools 0 or 1.
"""
import argparse, json, statistics, subprocess, sys

CHILD = """
import importlib, json, sys, time
import numpy as np
engine, path, threads, cache, dims = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], json.loads(sys.argv[5])
ort = importlib.import_module(engine)
kib = lambda field: next(int(x.split()[1]) for x in open("/proc/self/status") if x.startswith(field))
options = ort.SessionOptions()
options.intra_op_num_threads = threads
options.inter_op_num_threads = 1
if cache:
    options.add_session_config_entry("session.cache_dir", cache)
base, wall, cpu = kib("VmRSS:"), time.perf_counter(), time.process_time()
session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
loaded, loaded_cpu = time.perf_counter(), time.process_time()
rng = np.random.default_rng(1)
feed = {}
for i in session.get_inputs():
    shape = [d if isinstance(d, int) else int(dims.get(d, 1)) for d in i.shape]
    kind = i.type[7:-1]
    types = {"float": "float32", "double": "float64"}
    real = kind in ("float", "double", "float16")
    feed[i.name] = (rng.standard_normal(shape) if real else rng.integers(0, 2, shape)).astype(types.get(kind, kind))
made, made_cpu = time.perf_counter(), time.process_time()
session.run(None, feed)
end, end_cpu = time.perf_counter(), time.process_time()
runs = []
while len(runs) < 5 or (sum(runs) < 0.05 and len(runs) < 50):
    t = time.perf_counter()
    session.run(None, feed)
    runs.append(time.perf_counter() - t)
print(json.dumps({"load": loaded - wall, "first": end - made, "wall": end - made + loaded - wall,
                  "cpu": end_cpu - made_cpu + loaded_cpu - cpu, "run": sorted(runs)[len(runs) // 2],
                  "mib": (kib("VmHWM:") - base) / 1024}))
"""


def measure(engine, model, args, cache):
    call = [sys.executable, "-c", CHILD, engine, model, str(args.threads), cache, json.dumps(dict(d.split("=", 1) for d in args.dim))]
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{engine} on {model}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("models", nargs="+")
    ap.add_argument("--engines", nargs="+", default=["onnxruntime", "trunnion"])
    ap.add_argument("--cache", default="")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--repeat", type=int, default=3)
    ap.add_argument("--dim", nargs="*", default=[])
    args = ap.parse_args()
    print("| model | engine | load + first run, ms CPU (wall) | load | first | run | memory, MiB |\n|---|---|---|---|---|---|---|")
    for model in args.models:
        rows = [(e, "") for e in args.engines]
        if args.cache and "trunnion" in args.engines:
            rows.append(("trunnion", args.cache))
            measure("trunnion", model, args, args.cache)
        found = {row: [] for row in rows}
        for _ in range(args.repeat):
            for row in rows:
                found[row].append(measure(row[0], model, args, row[1]))
        for (engine, cache), list_ in found.items():
            m = {k: statistics.median(x[k] for x in list_) for k in list_[0]}
            ms = {k: f"{1e3 * v:.3g}" for k, v in m.items()}
            print(f"| {model.rsplit('/', 1)[-1]} | {engine}{' cached' if cache else ''} | {ms['cpu']} ({ms['wall']}) | "
                  f"{ms['load']} | {ms['first']} | {ms['run']} | {m['mib']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
