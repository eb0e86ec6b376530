"""Models of scikit-learn, LightGBM, XGBoost and CatBoost predict what those libraries predict. tools/gen/ml_fixtures.py
says how the fixtures came about."""

import json
import pathlib

import numpy as np
import pytest

import trunnion as ort

FOLDER = pathlib.Path(__file__).parent / "ml_fixtures"
MODELS = json.loads((FOLDER / "index.json").read_text())["models"]


def as_array(value):
    """Maps become rows, the tensors of a sequence the second dimension."""
    if not isinstance(value, list):
        return np.asarray(value)
    return np.array([list(row.values()) for row in value]) if isinstance(value[0], dict) else np.stack(value, 1)


def numbered(arrays, prefix):
    return [arrays[f"{prefix}{i}"] for i in range(sum(name.startswith(prefix) for name in arrays.files))]


def open_session(path):
    """Models of texts split them by regular expressions, which come with a library that a build may lack."""
    try:
        return ort.InferenceSession(path)
    except ort.errors.NotImplemented as error:
        if "libtrunnion_extras" not in str(error):
            raise
        pytest.skip("built without regular expressions")


@pytest.mark.parametrize("batch", ["all", "row by row"])
@pytest.mark.parametrize("name", sorted(MODELS))
def test_predictions(name, batch):
    row = MODELS[name]
    session = open_session(FOLDER / f"{name}.onnx")
    with np.load(FOLDER / f"{name}.npz") as arrays:
        inputs, expected = numbered(arrays, "in"), numbered(arrays, "out")
    inputs = [value.astype(object) if value.dtype.kind == "U" else value for value in inputs]
    rows = len(inputs[0])
    steps = [slice(0, rows)] if batch == "all" else [slice(i, i + 1) for i in range(rows)]
    ports = [port.name for port in session.get_inputs()]
    for step in steps:
        answers = session.run(None, {port: value[step] for port, value in zip(ports, inputs, strict=True)})
        assert len(answers) == len(expected)
        for have, want in zip(map(as_array, answers), expected, strict=True):
            if want.dtype.kind == "U":
                assert have.astype(str).tolist() == want[step].tolist()
            else:
                assert have.shape == want[step].shape
                np.testing.assert_allclose(have, want[step], rtol=row["rtol"], atol=row["atol"])
