"""Small models and pictures for the command line's tests."""
import struct
import zlib

import onnx
from onnx import TensorProto as T
from onnx import helper as h


def port(name, kind=T.FLOAT, shape=("N", 3)):
    return h.make_tensor_value_info(name, kind, None if shape is None else list(shape))


def model(nodes, inputs, outputs, initializers=(), opset=21, **facts):
    graph = h.make_graph(list(nodes), "graph", list(inputs), list(outputs), list(initializers))
    opsets = [h.make_opsetid("", opset), h.make_opsetid("ai.onnx.ml", 4)]
    made = h.make_model(graph, opset_imports=opsets, ir_version=10, **facts)
    return made


def same(kind=T.FLOAT, shape=("N", 3), opset=21):
    """y = x"""
    return model([h.make_node("Identity", ["x"], ["y"])], [port("x", kind, shape)], [port("y", kind, shape)], opset=opset)


def add():
    """c = a + b over a shared free dimension."""
    return model([h.make_node("Add", ["a", "b"], ["c"])], [port("a"), port("b")], [port("c")])


def overridable():
    """y = x + bias, where bias is an input with a default of 10."""
    bias = h.make_tensor("bias", T.FLOAT, [3], [10.0] * 3)
    return model([h.make_node("Add", ["x", "bias"], ["y"])], [port("x"), port("bias", shape=[3])], [port("y")], [bias])


def matmul():
    """y[N,4] = x[N,3] @ w"""
    w = h.make_tensor("w", T.FLOAT, [3, 4], [0.5] * 12)
    nodes = [h.make_node("MatMul", ["x", "w"], ["t"]), h.make_node("Relu", ["t"], ["y"])]
    return model(nodes, [port("x")], [port("y", shape=["N", 4])], [w])


def unknown_operator():
    node = h.make_node("Frobnicate", ["x"], ["y"], name="f")
    return model([node], [port("x")], [port("y")])


def same_sequence():
    """t = s, sequences of tensors"""
    kind = h.make_sequence_type_proto(h.make_tensor_type_proto(T.FLOAT, None))
    ports = [h.make_value_info(name, kind) for name in ("s", "t")]
    return model([h.make_node("Identity", ["s"], ["t"])], ports[:1], ports[1:])


def to_map():
    """z: a sequence of maps from label to number, a map for each row."""
    node = h.make_node("ZipMap", ["x"], ["z"], domain="ai.onnx.ml", classlabels_strings=["cat", "dog", "eel"])
    kind = h.make_sequence_type_proto(h.make_map_type_proto(T.STRING, h.make_tensor_type_proto(T.FLOAT, [])))
    return model([node], [port("x")], [h.make_value_info("z", kind)])


def png(width, height, pixel) -> bytes:
    """An RGB picture; pixel(x, y) -> (r, g, b)."""
    rows = b"".join(b"\0" + bytes(c for x in range(width) for c in pixel(x, y)) for y in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def bmp(width, height, pixel) -> bytes:
    pad = b"\0" * (-3 * width % 4)
    rows = b"".join(bytes(c for x in range(width) for c in pixel(x, y)[::-1]) + pad for y in reversed(range(height)))
    return (b"BM" + struct.pack("<IHHI", 54 + len(rows), 0, 0, 54)
            + struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(rows), 0, 0, 0, 0) + rows)


def ppm(width, height, pixel) -> bytes:
    return b"P6 %d %d 255\n" % (width, height) + bytes(c for y in range(height) for x in range(width) for c in pixel(x, y))


def sequence_proto(arrays) -> bytes:
    made = onnx.SequenceProto()
    made.elem_type = onnx.SequenceProto.TENSOR
    made.tensor_values.extend(onnx.numpy_helper.from_array(a) for a in arrays)
    return made.SerializeToString()
