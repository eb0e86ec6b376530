"""Measures models, each in a process of its own, so that the peak memory is that model's.

./dev bench MODEL... [--feeds FILE.npz | --shape NAME=1,3,48,192 ...] [--seconds S] [--json]
Without feeds the inputs are seeded random numbers; a free dimension without --shape is 1.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import time

import numpy as np
import trunnion

LEAST_RUNS, MOST_RUNS = 5, 1000
TYPES = {
    "float": np.float32, "double": np.float64, "float16": np.float16, "bool": np.bool_,
    "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64,
    "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64,
}


def memory_mib(field: str) -> float:
    """VmRSS (now) or VmHWM (the most so far) of this process."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    return math.nan


def parse_shapes(texts: list) -> dict:
    """{"x": (1, 3, 48, 192)} of ["x=1,3,48,192"]."""
    shapes = {}
    for text in texts:
        name, _, dims = text.rpartition("=")
        if not name or not all(dim.isdigit() for dim in dims.split(",")):
            sys.exit(f"--shape {text}: not of the form NAME=1,3,48,192")
        shapes[name] = tuple(map(int, dims.split(",")))
    return shapes


def random_feeds(session, shapes: dict) -> dict:
    generator = np.random.default_rng(0)
    feeds = {}
    for value in session.get_inputs():
        name = value.type.removeprefix("tensor(").removesuffix(")")
        if name not in TYPES:
            sys.exit(f"{value.name} is a {value.type}: give it with --feeds")
        shape = shapes.get(value.name) or [dim if isinstance(dim, int) else 1 for dim in value.shape]
        numbers = generator.random(shape) if name in ("float", "double", "float16") else generator.integers(0, 2, shape)
        feeds[value.name] = numbers.astype(TYPES[name])
    return feeds


def measure(model: str, feeds_path: str, shapes: dict, seconds: float) -> dict:
    feeds = dict(np.load(feeds_path)) if feeds_path else None
    before = memory_mib("VmRSS")
    start = time.perf_counter()
    session = trunnion.InferenceSession(model, providers=["CPUExecutionProvider"])
    loaded = time.perf_counter()
    feeds = feeds or random_feeds(session, shapes)
    begun = time.perf_counter()
    session.run(None, feeds)
    first = time.perf_counter() - begun
    times = []
    while len(times) < LEAST_RUNS or (sum(times) < seconds and len(times) < MOST_RUNS):
        begun = time.perf_counter()
        session.run(None, feeds)
        times.append(time.perf_counter() - begun)
    peak = memory_mib("VmHWM")
    return {
        "model": pathlib.Path(model).name,
        "load_ms": (loaded - start) * 1e3,
        "first_ms": first * 1e3,
        "p50_ms": float(np.percentile(times, 50)) * 1e3,
        "p95_ms": float(np.percentile(times, 95)) * 1e3,
        "runs": len(times),
        "peak_mib": peak,
        "model_mib": max(0.0, peak - before),
        "placement": session.placement_summary(),
    }


HEADER = f"{'model':36} {'load':>8} {'first':>8} {'p50':>8} {'p95':>8}  {'runs':>4} {'peak memory':>22}"


def row(m: dict) -> str:
    times = " ".join(f"{m[key]:8.1f}" for key in ("load_ms", "first_ms", "p50_ms", "p95_ms"))
    memory = f"{m['peak_mib']:.0f} MiB, model {m['model_mib']:.0f}"
    placement = "\n".join(f"  {line}" for line in m["placement"].strip().splitlines())
    return f"{m['model'][:36]:36} {times}  {m['runs']:4} {memory:>22}\n{placement}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="dev bench", description="Load time, run times, peak memory and placement of models.")
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--feeds", default="", help="an .npz with one array per input")
    parser.add_argument("--shape", action="append", default=[], help="NAME=1,3,48,192, for each input with free dimensions")
    parser.add_argument("--seconds", type=float, default=2.0, help="repeat for this long (default 2)")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if len(arguments.models) > 1:
        options = [word for text in arguments.shape for word in ("--shape", text)]
        options += [f"--feeds={arguments.feeds}", f"--seconds={arguments.seconds}", *["--json"] * arguments.json]
        sys.exit(max(subprocess.run([sys.executable, __file__, model, *options]).returncode for model in arguments.models))
    model = arguments.models[0]
    try:
        result = measure(model, arguments.feeds, parse_shapes(arguments.shape), arguments.seconds)
    except Exception as error:  # whatever a file or an engine can be wrong with: one line, not a traceback
        sys.exit(f"{model}: {error}")
    print(json.dumps(result) if arguments.json else f"{HEADER}   (times in ms)\n{row(result)}")


if __name__ == "__main__":
    main()
