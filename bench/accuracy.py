"""How far results are from exact ones: every model in every numerics level against a run in float64.

./dev python bench/accuracy.py MODEL.onnx|FOLDER... [--levels strict fp32 fast bf16] [--engine trunnion] [--dim NAME=N]
                               [--reference trunnion|onnx|onnxruntime] [--also onnxruntime] [--json FILE] [--markdown FILE]

The reference is the same graph with every float in it made a double (weights, constants, types, casts), run without
rewrites. An operator that has no double stays in float32 between two casts, and the report counts such nodes. Inputs are
seeded random numbers; free dimensions are 1 without --dim.
relFro = |y - ref| / |ref| in the Frobenius norm; max/maxref = greatest |y - ref| by greatest |ref|. Both are the worst of
the model's float outputs; for other outputs the share of elements that differ is shown.
"""
import argparse
import importlib
import json
import pathlib
import sys
import tempfile

import float64_model
import numpy as np
import onnx

NUMBERS = {
    "float": np.float32, "double": np.float64, "float16": np.float16, "bool": np.bool_, "int8": np.int8,
    "int16": np.int16, "int32": np.int32, "int64": np.int64, "uint8": np.uint8, "uint16": np.uint16,
    "uint32": np.uint32, "uint64": np.uint64,
}


class Unusable(Exception):
    """Why a model is not measured."""


def feeds_of(ports: list, dims: dict, seed: int = 0) -> dict:
    """Seeded inputs: normal reals, integers 0 and 1 (what masks, indices and tokens all take)."""
    generator = np.random.default_rng(seed)
    feeds = {}
    for port in ports:
        kind = port.type.removeprefix("tensor(").removesuffix(")")
        if kind not in NUMBERS:
            raise Unusable(f"input {port.name} is a {port.type}")
        shape = [dim if isinstance(dim, int) else dims.get(dim, dims.get(f"{port.name}.{axis}", 1))
                 for axis, dim in enumerate(port.shape)]
        real = kind in ("float", "double", "float16")
        numbers = generator.standard_normal(shape) if real else generator.integers(0, 2, shape)
        feeds[port.name] = np.asarray(numbers).astype(NUMBERS[kind])
    return feeds


def session_of(engine, path: str, entries: dict, rewrites: bool = True):
    options = engine.SessionOptions()
    if not rewrites:
        options.graph_optimization_level = engine.GraphOptimizationLevel.ORT_DISABLE_ALL
    for key, value in entries.items():
        options.add_session_config_entry(key, value)
    return engine.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def reference_run(model: onnx.ModelProto, feeds: dict, engine: str) -> tuple:
    """The outputs in float64, and how many nodes could not be made so."""
    exact, kept = float64_model.convert(model)
    wide = {name: x.astype(np.float64) if x.dtype in (np.float32, np.float16) else x for name, x in feeds.items()}
    if engine == "onnx":
        from onnx.reference import ReferenceEvaluator

        return ReferenceEvaluator(exact).run(None, wide), kept
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/exact.onnx"
        onnx.save(exact, path, save_as_external_data=True, location="weights")
        return session_of(importlib.import_module(engine), path, {}, rewrites=False).run(None, wide), kept


def errors(outputs: list, exact: list) -> dict:
    """The worst of the outputs."""
    found = {"rel_fro": 0.0, "max_by_max": 0.0, "differ": 0.0}
    for y, ref in zip(outputs, exact):
        if not isinstance(ref, np.ndarray) or ref.size == 0:
            continue
        if np.shape(y) != ref.shape:
            raise Unusable(f"an output of shape {np.shape(y)} is {ref.shape} in float64")
        if ref.dtype.kind != "f":
            found["differ"] = max(found["differ"], float(np.mean(y != ref)))
            continue
        y = y.astype(np.float64)
        usual = np.isfinite(ref)
        if not np.array_equal(np.isfinite(y), usual):
            return {"rel_fro": np.inf, "max_by_max": np.inf, "differ": found["differ"]}
        gap, size = (y - ref)[usual], ref[usual]
        norm, most = np.linalg.norm(size), np.max(np.abs(size), initial=0)
        found["rel_fro"] = max(found["rel_fro"], float(np.linalg.norm(gap) / (norm or 1)))
        found["max_by_max"] = max(found["max_by_max"], float(np.max(np.abs(gap), initial=0) / (most or 1)))
    return found


def measure(path: pathlib.Path, arguments, dims: dict) -> list:
    """A row for each level, and for each other engine."""
    model = onnx.load(path)
    engine = importlib.import_module(arguments.engine)
    feeds = feeds_of(session_of(engine, str(path), {}).get_inputs(), dims)
    exact, kept = reference_run(model, feeds, arguments.reference)
    rows = []
    wanted = [(arguments.engine, level) for level in arguments.levels] + [(name, "") for name in arguments.also]
    for name, level in wanted:
        row = {"model": path.stem, "engine": name, "level": level, "kept_in_float32": kept}
        try:
            outputs = session_of(importlib.import_module(name), str(path), {"precision": level} if level else {}).run(None, feeds)
            row |= errors(outputs, exact)
        except Exception as error:  # a level or an engine that does not take the model: said, not hidden
            row["fails"] = str(error).splitlines()[0][:200]
        rows.append(row)
    return rows


def cell(row: dict) -> str:
    if "fails" in row:
        return "fails"
    share = f", {row['differ']:.1%} differ" if row["differ"] else ""
    return f"{row['rel_fro']:.1e} / {row['max_by_max']:.1e}{share}"


def markdown(rows: list, arguments) -> str:
    columns = [f"{arguments.engine} {level}" for level in arguments.levels] + list(arguments.also)
    lines = ["relFro / max by maxref, against float64", "", "| model | " + " | ".join(columns) + " | in float32 |",
             "|---|" + "---|" * (len(columns) + 1)]
    for model in dict.fromkeys(row["model"] for row in rows):
        mine = [row for row in rows if row["model"] == model]
        kept = ", ".join(f"{count} {op}" for op, count in mine[0]["kept_in_float32"].items())
        lines.append(f"| {model} | " + " | ".join(cell(row) for row in mine) + f" | {kept} |")
    return "\n".join([*lines, "", *worst(rows)]) + "\n"


def worst(rows: list) -> list:
    lines = []
    for key in dict.fromkeys((row["engine"], row["level"]) for row in rows):
        mine = [row for row in rows if (row["engine"], row["level"]) == key and "rel_fro" in row]
        if not mine:
            continue
        by_norm, by_most = (max(mine, key=lambda row: row[figure]) for figure in ("rel_fro", "max_by_max"))
        lines.append(f"- {' '.join(key).strip()}: worst of {len(mine)}: relFro {by_norm['rel_fro']:.2e} ({by_norm['model']}), "
                     f"max/maxref {by_most['max_by_max']:.2e} ({by_most['model']})")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="files, or folders of them")
    parser.add_argument("--levels", nargs="*", default=["fp32"], choices=["strict", "fp32", "fast", "bf16"])
    parser.add_argument("--engine", default="trunnion")
    parser.add_argument("--also", nargs="*", default=[], help="other modules with the same interface")
    parser.add_argument("--reference", default="trunnion", choices=["trunnion", "onnx", "onnxruntime"])
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N")
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    arguments = parser.parse_args()
    dims = {}
    for text in arguments.dim:
        name, _, size = text.rpartition("=")
        if not name or not size.isdigit():
            sys.exit(f"--dim {text}: not of the form NAME=8")
        dims[name] = int(size)
    paths = []
    for given in map(pathlib.Path, arguments.models):
        paths += sorted(given.glob("*.onnx")) if given.is_dir() else [given]
    rows, code = [], 0
    for path in paths:
        try:
            found = measure(path, arguments, dims)
        except Exception as error:
            print(f"{path.name}: not measured: {str(error).splitlines()[0][:300]}", file=sys.stderr)
            code = 1
            continue
        rows += found
        print(f"{path.stem:28}", *(f"| {row['engine']} {row['level']}: {cell(row)}" for row in found), flush=True)
    if not rows:
        return 1
    print("", *worst(rows), sep="\n")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1))
    if arguments.markdown:
        pathlib.Path(arguments.markdown).write_text(markdown(rows, arguments))
    return code


if __name__ == "__main__":
    sys.exit(main())
