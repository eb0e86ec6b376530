"""ONNX's own node cases: one operator each, with inputs and outputs. The provider must give what the case says."""
from __future__ import annotations

import functools
import itertools
import random
import warnings

import numpy as np
import onnx
from host import Host, Wrong, compare
from onnx import numpy_helper

RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}


@functools.cache
def _all() -> dict:
    from onnx.backend.test.loader import load_model_tests

    warnings.filterwarnings("ignore")
    return {t.name: t for t in load_model_tests(kind="node") if t.model is not None}


def names(count: int, seed: int) -> list[str]:
    """A sample, the same for the same seed; a negative count: all."""
    if count == 0:
        return []
    found = sorted(_all())
    random.Random(seed).shuffle(found)
    usable = (n for n in found if _arrays(_all()[n]) is not None)
    return sorted(usable if count < 0 else itertools.islice(usable, count))


def _plain(item):
    if isinstance(item, onnx.TensorProto):
        item = numpy_helper.to_array(item)
    return item if isinstance(item, np.ndarray) and item.dtype.kind in "fiub" and item.dtype.isbuiltin == 1 else None


def _arrays(test):
    """Inputs and outputs by name, or None where numpy has no such values or the outputs are a matter of luck."""
    graph = test.model.graph
    if any(node.op_type in RANDOM for node in graph.node):
        return None
    ins, outs = ([_plain(a) for a in side] for side in test.data_sets[0])
    if any(a is None for a in ins + outs) or len(ins) != len(graph.input):
        return None
    return {i.name: a for i, a in zip(graph.input, ins)}, {o.name: a for o, a in zip(graph.output, outs)}


def run(host: Host, name: str, tolerance: float) -> tuple[str, str]:
    test = _all()[name]
    feed, expected = _arrays(test)
    model = test.model.SerializeToString()
    try:
        session = host.session(model)
    except Exception as e:
        try:
            host.cpu_session(model)
        except Exception:
            return "engine cannot", ""
        return "failed", f"at creation: {e}"
    if not host.holds(session):
        return "not claimed", ""
    try:
        results = session.run(list(expected), feed)
    except Exception as e:
        return "failed", f"at run: {e}"
    for (output, want), got in zip(expected.items(), results):
        try:
            compare(got, want, tolerance, f"output '{output}'")
        except Wrong as e:
            return "wrong", str(e)
    return "ok", ""
