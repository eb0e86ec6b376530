"""Writes the example models of trunnion.datasets: python tools/gen/example_models.py (needs onnx)."""

import pathlib

from onnx import TensorProto, helper

TARGET = pathlib.Path(__file__).parents[2] / "bindings/python/src/trunnion/datasets"


def save(name: str, nodes: list, inputs: list, outputs: list, initializers: list = (), ml: int = 0) -> None:
    graph = helper.make_graph(nodes, name, inputs, outputs, list(initializers))
    opsets = [helper.make_opsetid("", 13)] + ([helper.make_opsetid("ai.onnx.ml", ml)] if ml else [])
    model = helper.make_model(graph, opset_imports=opsets, producer_name="trunnion")
    model.ir_version = 7
    (TARGET / f"{name}.onnx").write_bytes(model.SerializeToString())


def tensor(name: str, shape: list, kind: int = TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def mul_1() -> None:
    factors = helper.make_tensor("W", TensorProto.FLOAT, [3, 2], [1, 2, 3, 4, 5, 6])
    save("mul_1", [helper.make_node("Mul", ["X", "W"], ["Y"])], [tensor("X", [3, 2])], [tensor("Y", [3, 2])], [factors])


def sigmoid() -> None:
    save("sigmoid", [helper.make_node("Sigmoid", ["x"], ["y"])], [tensor("x", [3, 4, 5])], [tensor("y", [3, 4, 5])])


def logreg_iris() -> None:
    """Three classes from two measures; the coefficients are round numbers that part the classes."""
    classify = helper.make_node(
        "LinearClassifier", ["float_input"], ["label", "scores"], domain="ai.onnx.ml",
        classlabels_ints=[0, 1, 2], coefficients=[-2.5, 2.0, 0.5, -1.5, 2.0, -0.5], intercepts=[8.0, 3.0, -11.0],
        multi_class=1, post_transform="SOFTMAX",
    )  # fmt: skip
    zip_map = helper.make_node(
        "ZipMap", ["scores"], ["probabilities"], domain="ai.onnx.ml", classlabels_int64s=[0, 1, 2]
    )
    value = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    maps = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.INT64, value))
    save(
        "logreg_iris", [classify, zip_map], [tensor("float_input", [3, 2])],
        [tensor("label", [3], TensorProto.INT64), helper.make_value_info("probabilities", maps)], ml=1,
    )  # fmt: skip


if __name__ == "__main__":
    TARGET.mkdir(exist_ok=True)
    mul_1()
    sigmoid()
    logreg_iris()
