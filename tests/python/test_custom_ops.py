"""register_custom_ops_library with the published library of onnxruntime-extensions, where it is installed."""

import importlib.util
import pathlib

import numpy as np
import pytest
from onnx import TensorProto, helper

import trunnion as ort
from trunnion import errors

DOMAIN = "ai.onnx.contrib"
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "##s", "un", "##aff", "##able", ","]
STRING, INT64 = TensorProto.STRING, TensorProto.INT64


@pytest.fixture(scope="module")
def library():
    # Found without importing the package, which would import another engine.
    spec = importlib.util.find_spec("onnxruntime_extensions")
    found = sorted(pathlib.Path(spec.origin).parent.glob("_extensions_pydll*")) if spec else []
    if not found:
        pytest.skip("onnxruntime-extensions is not installed")
    return str(found[0])


def session(library, nodes, inputs, outputs):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*i) for i in inputs],
                              [helper.make_tensor_value_info(*o) for o in outputs])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
    options = ort.SessionOptions()
    options.register_custom_ops_library(library)
    return ort.InferenceSession(
        helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString(), options)


def words(*texts):
    return np.array(texts, dtype=object)


def test_strings_pass_from_node_to_node(library):
    s = session(library,
                [helper.make_node("StringUpper", ["a"], ["b"], domain=DOMAIN),
                 helper.make_node("StringLength", ["b"], ["n"], domain=DOMAIN),
                 helper.make_node("Add", ["n", "n"], ["m"])],
                [("a", STRING, [None])], [("b", STRING, [None]), ("m", INT64, [None])])
    b, m = s.run(None, {"a": words("hello", "wOrld!")})
    assert b.tolist() == ["HELLO", "WORLD!"]
    assert m.tolist() == [10, 12]


def test_tokenizers_make_as_many_tokens_as_there_are(library):
    s = session(library,
                [helper.make_node("BertTokenizer", ["a"], ["ids", "types", "mask"], domain=DOMAIN,
                                  vocab_file="\n".join(VOCABULARY), do_lower_case=1)],
                [("a", STRING, [None])], [(n, INT64, [None]) for n in ("ids", "types", "mask")])
    ids, types, mask = s.run(None, {"a": words("Hello worlds, unaffable")})
    assert [VOCABULARY[i] for i in ids] == ["[CLS]", "hello", "world", "##s", ",", "un", "##aff", "##able", "[SEP]"]
    assert types.tolist() == [0] * 9
    assert mask.tolist() == [1] * 9
    assert s.run(["ids"], {"a": words("hello")})[0].tolist() == [2, 5, 3]


def test_what_a_kernel_says_reaches_the_caller(library):
    s = session(library, [helper.make_node("StringJoin", ["a", "s", "x"], ["b"], domain=DOMAIN)],
                [("a", STRING, [None, None]), ("s", STRING, [None]), ("x", INT64, [None])], [("b", STRING, [None])])
    feeds = {"a": words("p", "q").reshape(1, 2), "s": words(";"), "x": np.array([1])}
    assert s.run(None, feeds)[0].tolist() == ["p;q"]
    with pytest.raises(errors.RuntimeException, match="StringJoin.*shape must be"):
        s.run(None, feeds | {"s": words(";", ",")})


def test_types_are_checked_when_the_model_is_loaded(library):
    with pytest.raises(errors.InvalidGraph, match="StringUpper"):
        session(library, [helper.make_node("StringUpper", ["a"], ["b"], domain=DOMAIN)],
                [("a", TensorProto.FLOAT, [None])], [("b", STRING, [None])])
