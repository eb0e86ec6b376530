"""A model in which every float is a double: the measure for the errors of the model itself.

convert(model) -> (the new model, {operator: nodes that stay in float32}). Weights, constants, declared types and casts
change; an operator whose schema has no double for its floats stays as it is, between casts to float32 and back.
"""
import collections

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

FLOATS = (T.FLOAT, T.FLOAT16, T.BFLOAT16)
TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype", "stash_type")


def wide_tensor(tensor: onnx.TensorProto) -> None:
    if tensor.data_type not in FLOATS:
        return
    name, numbers = tensor.name, numpy_helper.to_array(tensor).astype(np.float64)
    tensor.CopyFrom(numpy_helper.from_array(numbers, name))


def wide_type(type_proto: onnx.TypeProto) -> None:
    kind = type_proto.WhichOneof("value")
    if kind == "tensor_type" and type_proto.tensor_type.elem_type in FLOATS:
        type_proto.tensor_type.elem_type = T.DOUBLE
    elif kind == "sequence_type":
        wide_type(type_proto.sequence_type.elem_type)
    elif kind == "optional_type":
        wide_type(type_proto.optional_type.elem_type)


def schema_of(node: onnx.NodeProto, versions: dict):
    """None for an operator that is not ONNX's."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    try:
        return onnx.defs.get_schema(node.op_type, versions.get(domain, 1), domain)
    except onnx.defs.SchemaError:
        return None


def has_double(node: onnx.NodeProto, versions: dict) -> bool:
    """Whether the operator takes and gives doubles wherever it does floats."""
    schema = schema_of(node, versions)
    if not schema:
        return False
    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    for port in [*schema.inputs, *schema.outputs]:
        kinds = allowed.get(port.type_str, [port.type_str])
        if "tensor(float)" in kinds and "tensor(double)" not in kinds:
            return False
    return True


def float_values(model: onnx.ModelProto, versions: dict) -> set:
    """Names of the values that are floats in the model as it stands."""
    graph = onnx.shape_inference.infer_shapes(model, data_prop=False).graph
    kinds = {t.name: t.data_type for t in graph.initializer}
    kinds |= {i.name: i.type.tensor_type.elem_type for i in [*graph.input, *graph.output, *graph.value_info]}
    names = {name for name, kind in kinds.items() if kind in FLOATS}
    for node in graph.node:  # what comes after an operator that onnx does not know has no type: that of its first float
        schema = schema_of(node, versions)
        for i, output in enumerate(node.output):
            if kinds.get(output):
                continue
            if schema:
                ports, last = list(schema.inputs), len(schema.inputs) - 1
                same = [name for k, name in enumerate(node.input)
                        if ports and ports[min(k, last)].type_str == schema.outputs[min(i, len(schema.outputs) - 1)].type_str]
            else:
                same = list(node.input) if i == 0 else []
            if any(name in names for name in same):
                names.add(output)
    return names


class Converter:
    def __init__(self, model: onnx.ModelProto):
        self.versions = {o.domain if o.domain != "ai.onnx" else "": o.version for o in model.opset_import}
        self.floats = float_values(model, self.versions)
        self.kept = collections.Counter()
        self.made = 0

    def graph(self, graph: onnx.GraphProto) -> None:
        for tensor in graph.initializer:
            wide_tensor(tensor)
        for info in [*graph.input, *graph.output]:
            wide_type(info.type)
        del graph.value_info[:]
        nodes = list(graph.node)
        del graph.node[:]
        for node in nodes:
            graph.node.extend(self.node(node))

    def attributes(self, node: onnx.NodeProto) -> None:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                wide_tensor(attribute.t)
            if attribute.HasField("g"):
                self.graph(attribute.g)
            if attribute.name in TYPE_ATTRIBUTES and attribute.i in FLOATS:
                attribute.i = T.DOUBLE

    def node(self, node: onnx.NodeProto) -> list:
        if node.op_type == "Constant":
            for attribute in node.attribute:  # value_float and value_floats become tensors
                if attribute.name in ("value_float", "value_floats"):
                    numbers = np.asarray(attribute.f if attribute.name == "value_float" else attribute.floats, np.float64)
                    attribute.CopyFrom(helper.make_attribute("value", numpy_helper.from_array(numbers)))
        if node.op_type in ("Constant", "ConstantOfShape", "Cast", "If", "Loop", "Scan") or has_double(node, self.versions):
            self.attributes(node)
            if node.op_type == "ConstantOfShape" and not node.attribute:  # float zeros
                node.attribute.append(helper.make_attribute("value", numpy_helper.from_array(np.zeros(1))))
            return [node]
        return self.between_casts(node)

    def between_casts(self, node: onnx.NodeProto) -> list:
        self.kept[node.op_type] += 1
        before, after = [], []
        for i, name in enumerate(node.input):
            if name in self.floats:
                node.input[i] = self.cast(before, name, T.FLOAT)
        for i, name in enumerate(node.output):
            if name in self.floats:
                self.made += 1
                node.output[i] = f"{name}__float32_{self.made}"
                after.append(helper.make_node("Cast", [node.output[i]], [name], to=T.DOUBLE))
        return [*before, node, *after]

    def cast(self, nodes: list, name: str, to: int) -> str:
        self.made += 1
        cast = f"{name}__float32_{self.made}"
        nodes.append(helper.make_node("Cast", [name], [cast], to=to))
        return cast


def convert(model: onnx.ModelProto) -> tuple:
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    converter = Converter(model)
    converter.graph(wide.graph)
    return wide, dict(converter.kept)
