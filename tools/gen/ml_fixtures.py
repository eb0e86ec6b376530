"""Writes tests/python/ml_fixtures: models of scikit-learn, LightGBM, XGBoost and CatBoost as ONNX, each with inputs and
with what the library itself predicts for them.

    python -m venv V
    V/bin/pip install scikit-learn skl2onnx onnxmltools lightgbm xgboost catboost pandas onnxruntime
    V/bin/python tools/gen/ml_fixtures.py [NAME ...]

NAME.onnx is the model. NAME.npz holds its inputs as in0, in1, ... and the expected outputs as out0, out1, ..., each in
the model's order; the maps of a ZipMap are the rows of one array, the tensors of a sequence its second dimension.
index.json holds the versions of the libraries and the tolerance of each model. A model is refused when onnxruntime
differs from its library: then the exporter is wrong. For texts onnxruntime needs the locale en_US.UTF-8.
"""

import importlib.metadata
import json
import pathlib
import sys
import warnings

import numpy as np
import onnx
from ml_boosted import CASES

TARGET = pathlib.Path(__file__).parents[2] / "tests/python/ml_fixtures"
LIBRARIES = (
    "scikit-learn",
    "skl2onnx",
    "onnxmltools",
    "lightgbm",
    "xgboost",
    "catboost",
    "onnx",
    "onnxruntime",
    "numpy",
)


def as_array(value) -> np.ndarray:
    """An output as the fixtures hold it: maps as rows, strings as numpy's fixed-size ones."""
    if isinstance(value, list):
        maps = isinstance(value[0], dict)
        value = np.array([list(row.values()) for row in value]) if maps else np.stack(value, 1)
    value = np.asarray(value)
    return value.astype(str) if value.dtype.kind in "OS" else value


def difference(have: np.ndarray, want: np.ndarray, rtol: float, atol: float) -> str:
    """What differs, or nothing."""
    if have.shape != want.shape:
        return f"shape {have.shape} for {want.shape}"
    if have.dtype.kind == "U" or want.dtype.kind == "U":
        return "" if (have.astype(str) == want.astype(str)).all() else "texts differ"
    with np.errstate(all="ignore"):
        off = np.abs(have.astype(float) - want.astype(float))
    close = np.isclose(have.astype(float), want.astype(float), rtol=rtol, atol=atol, equal_nan=True)
    return "" if close.all() else f"{int((~close).sum())} of {close.size} differ by up to {np.nanmax(off):.3g}"


def answers(model: onnx.ModelProto, inputs: list) -> list:
    import onnxruntime

    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {port.name: value for port, value in zip(session.get_inputs(), inputs, strict=True)}
    return [as_array(value) for value in session.run(None, feeds)]


def write(name: str, make) -> dict:
    """Its row of the index."""
    np.random.seed(0)
    made = make()
    del made.model.metadata_props[:]
    made.model.doc_string = made.model.graph.doc_string = ""
    made.model.graph.name = name
    expected = [as_array(value) for value in made.expected]
    row = {"rtol": made.rtol, "atol": made.atol}
    said = answers(made.model, made.inputs)
    if len(said) != len(expected):
        raise ValueError(f"{name}: {len(said)} outputs, {len(expected)} expected")
    for i, (have, want) in enumerate(zip(said, expected, strict=True)):
        wrong = difference(have, want, made.rtol, made.atol)
        if wrong:
            raise ValueError(f"{name}: output {i} of onnxruntime: {wrong}")
        if want.dtype.kind == "f" and have.dtype == np.float32:
            expected[i] = want.astype(np.float32)
    (TARGET / f"{name}.onnx").write_bytes(made.model.SerializeToString())
    arrays = {f"in{i}": as_array(value) for i, value in enumerate(made.inputs)}
    np.savez_compressed(TARGET / f"{name}.npz", **arrays, **{f"out{i}": value for i, value in enumerate(expected)})
    return row


def main(names: list) -> int:
    warnings.simplefilter("ignore")
    TARGET.mkdir(exist_ok=True)
    path = TARGET / "index.json"
    models = json.loads(path.read_text())["models"] if path.exists() and names else {}
    wrong = 0
    for name, make in CASES.items():
        if names and name not in names:
            continue
        try:
            models[name] = write(name, make)
        except Exception as error:  # the others are still of use
            wrong += 1
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
    versions = {library: importlib.metadata.version(library) for library in LIBRARIES}
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(models[name])}" for name in sorted(models))
    path.write_text(f'{{"versions": {json.dumps(versions)},\n "models": {{\n{rows}\n}}}}\n')
    print(f"{len(models)} models, {sum(p.stat().st_size for p in TARGET.iterdir()) / 1e6:.2f} MB")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
