"""trunnion.backend: what test suites of ONNX call."""

import numpy as np
import pytest
from small_models import add, relu

import trunnion as ort
from trunnion import backend

X = np.array([[-1, 2, 3]], np.float32)


def test_prepare_and_run(tmp_path):
    made, path = relu(), tmp_path / "m.onnx"
    path.write_bytes(made.SerializeToString())
    expected = np.maximum(X, 0)
    for source in (made, made.SerializeToString(), str(path), ort.InferenceSession(str(path))):
        prepared = backend.prepare(source, "CPU")
        assert backend.prepare(prepared) is prepared
        for inputs in ([X], (X,), X):
            np.testing.assert_array_equal(prepared.run(inputs)[0], expected)
        np.testing.assert_array_equal(backend.run_model(source, [X])[0], expected)


def test_settings():
    prepared = backend.prepare(add(), intra_op_num_threads=1, providers=["CPUExecutionProvider"])
    assert prepared._session.get_session_options().intra_op_num_threads == 1
    one = np.ones(2, np.float32)
    (out,) = backend.run(add(), [one, one], logid="tag", intra_op_num_threads=1)
    np.testing.assert_array_equal(out, [2, 2])
    with pytest.raises(TypeError, match="nonsense"):
        backend.prepare(add(), nonsense=1)
    with pytest.raises(RuntimeError, match="expect 2 inputs, 1"):
        prepared.run([one])


def test_devices():
    assert backend.supports_device("CPU") and backend.is_compatible(relu()) and not backend.supports_device("CUDA")
    with pytest.raises(RuntimeError, match="CUDA"):
        backend.prepare(relu(), "CUDA")
    with pytest.raises(NotImplementedError):
        backend.OnnxRuntimeBackend.run_node(relu().graph.node[0], [X])
