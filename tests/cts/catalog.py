"""The models of the suite: what they stress is how a graph is cut between a provider and the CPU, so they are written
over two operators, one that the provider takes (`ours`) and one that it does not (`theirs`)."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET = 18
FLOAT, BOOL, INT64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64


def value(name: str, dims, kind: int = FLOAT):
    return helper.make_tensor_value_info(name, kind, dims)


def array(name: str, data, dtype=np.float32):
    return numpy_helper.from_array(np.asarray(data, dtype), name)


@dataclass
class Op:
    """A way to write one node of an operator over values of one shape."""

    type: str
    inputs: int = 1
    attributes: dict = field(default_factory=dict)
    weights: dict = field(default_factory=dict)  # further inputs, made for the last dimension of 8
    domain: str = ""

    def node(self, inputs: list[str], output: str):
        names = [*inputs[: self.inputs], *self.weights]
        return helper.make_node(self.type, names, [output], name=f"{self.type}_{output}", domain=self.domain, **self.attributes)


RNG = np.random.default_rng(11)
SQUARE = RNG.standard_normal((8, 8)).astype(np.float32) / 3

# What a provider is tried with, in order of preference: of those that it takes and those that it leaves, the first.
BINARY = [Op("Add", 2), Op("Mul", 2), Op("Sub", 2), Op("Max", 2)]
UNARY = [
    Op("Relu"),
    Op("Sigmoid"),
    Op("Tanh"),
    Op("Abs"),
    Op("Neg"),
    Op("Softmax", attributes={"axis": -1}),
    Op("MatMul", weights={"square": SQUARE}),
    Op("Identity"),
    Op("Exp"),
    Op("Celu"),
    Op("Selu"),
    Op("Softsign"),
    Op("ThresholdedRelu", attributes={"alpha": 0.1}),
    Op("CumSum", weights={"axis_1": np.array(1, np.int64)}),
    Op("Hardmax", attributes={"axis": -1}),
    Op("LpNormalization", attributes={"axis": -1}),
    Op("Mish"),
    Op("Shrink", attributes={"lambd": 0.3}),
    Op("Normalizer", attributes={"norm": "MAX"}, domain="ai.onnx.ml"),
    Op("Scaler", attributes={"offset": [0.5], "scale": [1.5]}, domain="ai.onnx.ml"),
]


@dataclass
class Menu:
    """What a provider takes and leaves."""

    unary: Op | None  # taken
    binary: Op | None
    foreign: Op | None  # left


def model(nodes, inputs, outputs, ops, fixed=(), name="cts", body=False):
    """A model, or a body, with the weights that the operators need."""
    weights = {}
    for op in ops:
        weights.update({n: array(n, a, a.dtype) for n, a in op.weights.items()})
    graph = helper.make_graph(nodes, name, inputs, outputs, [*weights.values(), *fixed])
    if body:
        return graph
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=9)


def feed(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@dataclass
class Case:
    name: str
    make: Callable  # Menu -> onnx model
    feeds: Callable  # () -> list of feeds
    needs: str = "unary foreign"  # of the menu


def plain(*shapes):
    return lambda: [{"x": feed(*s, seed=i)} for i, s in enumerate(shapes or [(4, 8), (4, 8)])]


def chain(pattern):
    """u: an operator of the provider, f: a foreign one."""

    def make(menu):
        nodes, last = [], "x"
        for i, letter in enumerate(pattern):
            op = menu.unary if letter == "u" else menu.foreign
            out = "y" if i == len(pattern) - 1 else f"v{i}"
            nodes.append(op.node([last], out))
            last = out
        ops = [menu.unary] + ([menu.foreign] if "f" in pattern else [])
        return model(nodes, [value("x", [4, 8])], [value("y", [4, 8])], ops)

    return make


def skip(menu):
    """A connection around the foreign operator."""
    nodes = [menu.unary.node(["x"], "a"), menu.foreign.node(["a"], "b"), menu.binary.node(["a", "b"], "y")]
    return model(nodes, [value("x", [4, 8])], [value("y", [4, 8])], [menu.unary, menu.foreign])


def diamond(menu):
    """Two ways between the same ends, one of them foreign; neither end may be merged with the other."""
    nodes = [menu.unary.node(["x"], "a"), menu.foreign.node(["a"], "f"), menu.unary.node(["a"], "u"),
             menu.unary.node(["u"], "w"), menu.binary.node(["f", "w"], "m"), menu.unary.node(["m"], "y")]
    return model(nodes, [value("x", [4, 8])], [value("y", [4, 8])], [menu.unary, menu.foreign])


def crossed(menu):
    """Two chains that need each other's foreign part: no group may hold both ends."""
    nodes = [menu.unary.node(["x"], "a"), menu.unary.node(["z"], "b"), menu.foreign.node(["a"], "fa"),
             menu.foreign.node(["b"], "fb"), menu.binary.node(["a", "fb"], "c"), menu.binary.node(["b", "fa"], "d"),
             menu.binary.node(["c", "d"], "y")]
    return model(nodes, [value("x", [4, 8]), value("z", [4, 8])], [value("y", [4, 8])], [menu.unary, menu.foreign])


def islands(menu):
    """Many groups of one node each."""
    nodes, last = [], "x"
    for i in range(12):
        nodes += [menu.unary.node([last], f"u{i}"), menu.foreign.node([f"u{i}"], f"f{i}")]
        last = f"f{i}"
    nodes.append(menu.unary.node([last], "y"))
    return model(nodes, [value("x", [4, 8])], [value("y", [4, 8])], [menu.unary, menu.foreign])


def parallel(menu):
    """Groups that have nothing to do with each other."""
    nodes, ends = [], []
    for i in range(4):
        nodes += [menu.unary.node(["x"], f"a{i}"), menu.foreign.node([f"a{i}"], f"f{i}"), menu.unary.node([f"f{i}"], f"y{i}")]
        ends.append(value(f"y{i}", [4, 8]))
    return model(nodes, [value("x", [4, 8])], ends, [menu.unary, menu.foreign])


def inner_output(menu):
    """A value inside of a group that the caller wants too, and one that is asked for twice."""
    nodes = [menu.unary.node(["x"], "a"), menu.unary.node(["a"], "b"), menu.foreign.node(["b"], "c"), menu.unary.node(["b"], "y")]
    return model(nodes, [value("x", [4, 8])], [value("a", [4, 8]), value("c", [4, 8]), value("y", [4, 8])], [menu.unary, menu.foreign])


def shared_constant(menu):
    """A constant that both sides read."""
    nodes = [menu.binary.node(["x", "k"], "a"), menu.foreign.node(["a"], "b"), helper.make_node("Pow", ["b", "k"], ["p"], name="p"),
             menu.binary.node(["p", "k"], "y")]
    return model(nodes, [value("x", [4, 8])], [value("y", [4, 8])], [menu.foreign], [array("k", np.full((4, 8), 2.0))])


def constant_output(menu):
    """The whole model is constants and one node over them."""
    nodes = [menu.binary.node(["k", "x"], "a"), menu.unary.node(["a"], "y")]
    return model(nodes, [value("x", [4, 8])], [value("y", [4, 8])], [menu.unary], [array("k", feed(4, 8, seed=5))])


def branches(inside):
    """An If whose branches hold both kinds, over values of the graph around it."""

    def make(menu):
        def body(name, flip):
            first, second = (menu.unary, menu.foreign) if flip else (menu.foreign, menu.unary)
            ops = [menu.unary] if inside == "ours" else [first, second]
            nodes, last = [], "a"
            for i, op in enumerate(ops):
                nodes.append(op.node([last], f"{name}{i}"))
                last = f"{name}{i}"
            nodes.append(menu.binary.node([last, "x"], f"{name}_y"))
            return model(nodes, [], [value(f"{name}_y", [4, 8])], ops, name=name, body=True)

        nodes = [menu.unary.node(["x"], "a"),
                 helper.make_node("ReduceMax", ["x"], ["most"], name="most", keepdims=0),
                 helper.make_node("Greater", ["most", "limit"], ["high"], name="high"),
                 helper.make_node("If", ["high"], ["b"], name="if", then_branch=body("then", True), else_branch=body("else", False)),
                 menu.unary.node(["b"], "y")]
        return model(nodes, [value("x", [4, 8])], [value("y", [4, 8])], [menu.unary], [array("limit", 1.0)])

    return make


def loop(menu):
    """A Loop over both kinds, with a value carried on and one collected."""
    body_nodes = [menu.unary.node(["state"], "a"), menu.foreign.node(["a"], "b"), menu.binary.node(["b", "x"], "next"),
                  helper.make_node("Identity", ["go_in"], ["go_out"], name="go"), menu.unary.node(["next"], "seen")]
    body = model(body_nodes, [value("i", [], INT64), value("go_in", [], BOOL), value("state", [4, 8])],
                 [value("go_out", [], BOOL), value("next", [4, 8]), value("seen", [4, 8])], [menu.unary, menu.foreign],
                 name="body", body=True)
    nodes = [helper.make_node("Loop", ["trips", "go", "x"], ["last", "all"], name="loop", body=body), menu.unary.node(["last"], "y")]
    return model(nodes, [value("x", [4, 8])], [value("y", [4, 8]), value("all", [3, 4, 8])], [menu.unary],
                 [array("trips", 3, np.int64), array("go", True, np.bool_)])


def dynamic(menu):
    """Free dimensions, run with several sizes, back and forth."""
    nodes = [menu.unary.node(["x"], "a"), menu.foreign.node(["a"], "b"), menu.binary.node(["a", "b"], "y")]
    return model(nodes, [value("x", ["n", 8])], [value("y", ["n", 8])], [menu.unary, menu.foreign])


def dynamic_whole(menu):
    nodes = [menu.unary.node(["x"], "a"), menu.binary.node(["a", "x"], "y")]
    return model(nodes, [value("x", ["n", 8])], [value("y", ["n", 8])], [menu.unary])


def data_dependent(menu):
    """A shape that only a run can tell stands between two groups."""
    nodes = [menu.unary.node(["x"], "a"), helper.make_node("Greater", ["a", "zero"], ["g"], name="g"),
             helper.make_node("NonZero", ["g"], ["nz"], name="nz"), helper.make_node("Transpose", ["nz"], ["t"], name="t"),
             helper.make_node("GatherND", ["a", "t"], ["some"], name="some"), menu.binary.node(["some", "some"], "y")]
    return model(nodes, [value("x", [4, 8])], [value("y", [None])], [menu.unary], [array("zero", 0.0)])


SIZES = [(1, 8), (5, 8), (2, 8), (5, 8), (64, 8)]

CASES = [
    Case("partition/whole", chain("uuu"), plain(), "unary"),
    Case("partition/foreign first", chain("fuu"), plain()),
    Case("partition/foreign last", chain("uuf"), plain()),
    Case("partition/foreign between", chain("uufuu"), plain()),
    Case("partition/skip", skip, plain(), "unary binary foreign"),
    Case("partition/diamond", diamond, plain(), "unary binary foreign"),
    Case("partition/crossed", crossed, lambda: [{"x": feed(4, 8), "z": feed(4, 8, seed=3)}], "unary binary foreign"),
    Case("partition/islands", islands, plain()),
    Case("partition/parallel", parallel, plain()),
    Case("partition/inner output", inner_output, plain()),
    Case("partition/shared constant", shared_constant, lambda: [{"x": abs(feed(4, 8)) + 0.5}], "binary foreign"),
    Case("partition/constant and input", constant_output, plain(), "unary binary"),
    Case("control flow/if, ours inside", branches("ours"), plain((4, 8), (4, 8)), "unary binary foreign"),
    Case("control flow/if, both inside", branches("both"), lambda: [{"x": feed(4, 8)}, {"x": -abs(feed(4, 8))}], "unary binary foreign"),
    Case("control flow/loop", loop, plain(), "unary binary foreign"),
    Case("dynamic/sizes", dynamic, plain(*SIZES), "unary binary foreign"),
    Case("dynamic/whole", dynamic_whole, plain(*SIZES), "unary binary"),
    Case("dynamic/empty", dynamic_whole, plain((3, 8), (0, 8), (3, 8)), "unary binary"),
    Case("dynamic/data-dependent", data_dependent, plain(), "unary binary"),
]


def probe(op: Op, binary: bool = False):
    """A model of that operator alone."""
    inputs = ["x", "z"] if binary else ["x"]
    nodes = [op.node(inputs, "y")]
    return model(nodes, [value(n, [4, 8]) for n in inputs], [value("y", [4, 8])], [op])
