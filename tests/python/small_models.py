"""Small models for the tests, and sessions of them."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h

import trunnion as ort
from trunnion import _native


def _is_own() -> bool:
    try:
        return bool(_native.engine_version())
    except ort.errors.NotImplemented:
        return False


OWN = _is_own()  # whether the library is trunnion's, not another that TRUNNION_LIBRARY names
tensor = h.make_tensor_value_info


def value_info(name, type_proto):
    return h.make_value_info(name, type_proto)


def tensor_type(kind=T.FLOAT, shape=None):
    return h.make_tensor_type_proto(kind, shape)


def model(nodes, inputs, outputs, initializers=(), opset=21, ml=0, ir=10, **facts):
    graph = h.make_graph(list(nodes), "graph", list(inputs), list(outputs), list(initializers))
    opsets = [h.make_opsetid("", opset)] + ([h.make_opsetid("ai.onnx.ml", ml)] if ml else [])
    made = h.make_model(graph, opset_imports=opsets, **facts)
    made.ir_version = ir
    return made


def relu():
    return model(
        [h.make_node("Relu", ["X"], ["Y"], name="r")],
        [tensor("X", T.FLOAT, ["N", 3])],
        [tensor("Y", T.FLOAT, ["N", 3])],
    )


def identity(kind, shape=("n",), opset=21):
    shape = list(shape) if shape is not None else None
    node = h.make_node("Identity", ["X"], ["Y"])
    return model([node], [tensor("X", kind, shape)], [tensor("Y", kind, shape)], opset=opset)


def add(kind=T.FLOAT, shape=("n",)):
    ports = [tensor(name, kind, list(shape)) for name in ("A", "B", "C")]
    return model([h.make_node("Add", ["A", "B"], ["C"])], ports[:2], ports[2:])


def two_outputs():
    nodes = [h.make_node("Neg", ["X"], ["negative"]), h.make_node("Abs", ["X"], ["absolute"])]
    return model(
        nodes, [tensor("X", T.FLOAT, ["n"])], [tensor("negative", T.FLOAT, ["n"]), tensor("absolute", T.FLOAT, ["n"])]
    )


def count_to(body_nodes=1):
    """A Loop that adds 1 to its state `trips` times."""
    body = h.make_graph(
        [h.make_node("Add", ["state", "one"], ["next"]), h.make_node("Identity", ["go_in"], ["go"])],
        "body",
        [tensor("i", T.INT64, []), tensor("go_in", T.BOOL, []), tensor("state", T.FLOAT, [1])],
        [tensor("go", T.BOOL, []), tensor("next", T.FLOAT, [1])],
    )
    loop = h.make_node("Loop", ["trips", "", "start"], ["end"], body=body)
    one = h.make_tensor("one", T.FLOAT, [1], [1.0])
    return model(
        [loop], [tensor("trips", T.INT64, []), tensor("start", T.FLOAT, [1])], [tensor("end", T.FLOAT, [1])], [one]
    )


def matmul(n=64, layers=1, seed=0):
    """X (m, n) through `layers` square matrices."""
    random = np.random.default_rng(seed)
    weights = [random.standard_normal((n, n)).astype(np.float32) / np.float32(n**0.5) for _ in range(layers)]
    nodes = [h.make_node("MatMul", [f"t{i}", f"w{i}"], [f"t{i + 1}"]) for i in range(layers)]
    initializers = [onnx.numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(weights)]
    made = model(nodes, [tensor("t0", T.FLOAT, ["m", n])], [tensor(f"t{layers}", T.FLOAT, ["m", n])], initializers)
    return made, weights


def session(made, options=None, **keywords):
    """An InferenceSession of a ModelProto."""
    return ort.InferenceSession(made.SerializeToString(), options, **keywords)


def session_or_skip(made, options=None, **keywords):
    """The same; skips the test when the engine does not have an operator or type of the model yet."""
    try:
        return session(made, options, **keywords)
    except (ort.errors.NotImplemented, ort.errors.InvalidGraph) as error:
        pytest.skip(str(error))
