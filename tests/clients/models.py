"""Writes the models of the client tests into a folder, and the values that every client must print (expected.json).

    models.py FOLDER
"""
import json
import pathlib
import sys

import onnx
from onnx import TensorProto as T
from onnx import helper as h

LARGE = 9007199254740993  # no double has this value


def ports():
    """Three inputs of three types with a free dimension, four outputs."""
    inputs = [
        h.make_tensor_value_info("x", T.FLOAT, ["rows", 3]),
        h.make_tensor_value_info("ids", T.INT64, ["rows"]),
        h.make_tensor_value_info("names", T.STRING, ["rows"]),
    ]
    outputs = [
        h.make_tensor_value_info("scaled", T.FLOAT, ["rows", 3]),
        h.make_tensor_value_info("total", T.FLOAT, ["rows"]),
        h.make_tensor_value_info("next", T.INT64, ["rows"]),
        h.make_tensor_value_info("greeting", T.STRING, ["rows"]),
    ]
    constants = [
        h.make_tensor("two", T.FLOAT, [], [2.0]),
        h.make_tensor("one", T.FLOAT, [3], [1.0] * 3),
        h.make_tensor("last", T.INT64, [1], [1]),
        h.make_tensor("step", T.INT64, [], [1]),
        h.make_tensor("hi", T.STRING, [1], [b"hi "]),
    ]
    nodes = [
        h.make_node("Mul", ["x", "two"], ["doubled"]),
        h.make_node("Add", ["doubled", "one"], ["scaled"]),
        h.make_node("ReduceSum", ["x", "last"], ["total"], keepdims=0),
        h.make_node("Add", ["ids", "step"], ["next"]),
        h.make_node("StringConcat", ["hi", "names"], ["greeting"]),
    ]
    graph = h.make_graph(nodes, "ports", inputs, outputs, constants)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=9, producer_name="clients",
                         domain="trunnion.test", model_version=7, doc_string="what clients do")
    h.set_model_props(model, {"team": "a=ç"})
    return model


def unknown():
    port = [h.make_tensor_value_info("x", T.FLOAT, [1])]
    graph = h.make_graph([h.make_node("Frobnicate", ["x"], ["y"], name="f")], "unknown", port,
                         [h.make_tensor_value_info("y", T.FLOAT, [1])])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=9)


def small():
    """y = Relu(x), for programs that take a model of one float input."""
    ports = [[h.make_tensor_value_info(name, T.FLOAT, ["rows", 3])] for name in "xy"]
    graph = h.make_graph([h.make_node("Relu", ["x"], ["y"])], "small", *ports)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=9)


# Key -> what the client prints behind it. `file` is run with one row, `bytes` with two.
VALUES = {
    "inputs": "x ids names",
    "outputs": "scaled total next greeting",
    "file.scaled": "1 3 5",
    "file.total": "3",
    "file.next": "8",
    "file.greeting": "hi ann",
    "bytes.dims": "2 3",
    "bytes.scaled": "-5 -3 -1 1 3 5",
    "bytes.total": "-6 3",
    "bytes.next": f"0 {LARGE + 1}",
    "bytes.greeting": "hi bç|hi ",
    "some": f"0 {LARGE + 1} -6 3",  # next and total, in this order
    "preallocated": "-6 3",
    "concurrent": "3 3 3 3",
    "metadata.producer": "clients",
    "metadata.graph": "ports",
    "metadata.domain": "trunnion.test",
    "metadata.description": "what clients do",
    "metadata.version": "7",
    "metadata.custom": "a=ç",
}

# Key -> what the message of the error must contain.
MESSAGES = {
    "error.rank": "Invalid rank for input: x Got: 1 Expected: 2",
    "error.dims": "Got invalid dimensions for input: x",
    "error.absent": "absent.onnx",
    "error.unknown": "Frobnicate",
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(ports(), folder / "ports.onnx")
    onnx.save(unknown(), folder / "unknown.onnx")
    onnx.save(small(), folder / "small.onnx")
    (folder / "expected.json").write_text(json.dumps({"values": VALUES, "messages": MESSAGES}))


if __name__ == "__main__":
    main()
