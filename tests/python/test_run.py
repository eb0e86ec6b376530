"""run(): what it takes, what it gives, what it refuses."""

import collections
import gc
import os
import signal
import sys
import threading
import types
import weakref

import numpy as np
import pytest
from small_models import OWN, T, add, h, identity, model, relu, session, session_or_skip, tensor, two_outputs

import trunnion as ort
from trunnion import errors

X = np.array([[-1, 2, 3], [4, -5, 6]], np.float32)
Y = np.array([[0, 2, 3], [4, 0, 6]], np.float32)


@pytest.fixture(scope="module")
def relu_session():
    return session(relu())


def test_all_outputs(relu_session):
    (y,) = relu_session.run(None, {"X": X})
    np.testing.assert_array_equal(y, Y)
    assert y.dtype == np.float32 and y.flags.writeable and y.flags.c_contiguous


@pytest.mark.parametrize("names", [[], ["Y"], ("Y",), ["Y", "Y"], np.array(["Y"], object)])
def test_output_names(relu_session, names):
    results = relu_session.run(names, {"X": X})
    assert len(results) == max(1, len(names))
    for y in results:
        np.testing.assert_array_equal(y, Y)


def test_outputs_come_in_the_order_asked_for():
    s = session(two_outputs())
    x = np.array([1, -2], np.float32)
    absolute, negative = s.run(["absolute", "negative"], {"X": x})
    np.testing.assert_array_equal(absolute, [1, 2])
    np.testing.assert_array_equal(negative, [-1, 2])
    (only,) = s.run(["absolute"], {"X": x})
    np.testing.assert_array_equal(only, [1, 2])


def test_a_required_output_without_a_name():
    node = h.make_node("LayerNormalization", ["X", "scale"], ["", "mean"])
    inputs = [tensor("X", T.FLOAT, [2, 3]), tensor("scale", T.FLOAT, [3])]
    s = session(model([node], inputs, [tensor("mean", T.FLOAT, [2, 1])]))
    (mean,) = s.run(None, {"X": X, "scale": np.ones(3, np.float32)})
    np.testing.assert_allclose(mean, X.mean(axis=1, keepdims=True), rtol=1e-6)


def test_output_is_the_engines_memory_and_outlives_the_session():
    s = session(relu())
    (y,) = s.run(None, {"X": X})
    (z,) = s.run(None, {"X": 2 * X})
    assert not y.flags.owndata and type(y.base).__name__ == "PyCapsule"
    del s
    gc.collect()
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(z, 2 * Y)
    y += 1  # outputs may be written
    np.testing.assert_array_equal(y, Y + 1)


def test_inputs_are_let_go(relu_session):
    x = X.copy()
    before = sys.getrefcount(x)
    for _ in range(10):
        relu_session.run(None, {"X": x})
    assert sys.getrefcount(x) == before


@pytest.mark.parametrize(
    "make",
    [
        lambda: X.tolist(),
        lambda: [tuple(row) for row in X.astype(int).tolist()],
        lambda: np.asfortranarray(X),
        lambda: np.repeat(X, 2, axis=1)[:, ::2],
        lambda: X[::-1][::-1],
        lambda: X.astype(">f4"),
        lambda: np.lib.stride_tricks.as_strided(
            np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float32), (2, 3)
        ),
        lambda: ort.OrtValue.ortvalue_from_numpy(X),
        lambda: np.ma.array(X),
    ],
    ids=["list", "ints", "fortran", "strided", "reversed", "bigendian", "unaligned", "ortvalue", "subclass"],
)
def test_forms_of_input(relu_session, make):
    given = make()
    copy = np.array(given, copy=True) if isinstance(given, np.ndarray) else None
    (y,) = relu_session.run(None, {"X": given})
    np.testing.assert_array_equal(y, Y)
    if copy is not None:
        np.testing.assert_array_equal(np.asarray(given), copy)


def test_read_only_input(relu_session):
    x = X.copy()
    x.flags.writeable = False
    np.testing.assert_array_equal(relu_session.run(None, {"X": x})[0], Y)


def test_tensor_of_another_package_over_dlpack(relu_session):
    class Foreign:
        def __dlpack__(self, **keywords):
            return X.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return (1, 0)

    np.testing.assert_array_equal(relu_session.run(None, {"X": Foreign()})[0], Y)


def test_object_with_array_interface(relu_session):
    class Arrayish:
        def __array__(self, dtype=None, copy=None):
            return X

    np.testing.assert_array_equal(relu_session.run(None, {"X": Arrayish()})[0], Y)


def test_what_has_a_dtype_keeps_it(relu_session):
    class Doubles:
        def __array__(self, dtype=None, copy=None):
            return X.astype(np.float64)

    for given in (Doubles(), np.float64(3)):
        with pytest.raises(errors.InvalidArgument, match="double"):
            relu_session.run(None, {"X": given})


@pytest.mark.parametrize("kind", [collections.OrderedDict, types.MappingProxyType, collections.UserDict])
def test_feeds_that_are_no_plain_dict(relu_session, kind):
    np.testing.assert_array_equal(relu_session.run(None, kind({"X": X}))[0], Y)


def test_scalars_and_zero_sizes():
    s = session(identity(T.INT64, None))
    for given in (5, np.int64(5), np.array(5)):
        (y,) = s.run(None, {"X": given})
        assert y.shape == () and y == 5 and y.dtype == np.int64
    for shape in [(0,), (0, 3), (2, 0, 4)]:
        (y,) = s.run(None, {"X": np.zeros(shape, np.int64)})
        assert y.shape == shape and y.dtype == np.int64
    assert s.run(None, {"X": []})[0].shape == (0,)


def test_missing_input(relu_session):
    with pytest.raises(ValueError) as caught:
        relu_session.run(None, {})
    assert str(caught.value) == "Required inputs (['X']) are missing from input feed ([])."
    with pytest.raises(ValueError) as caught:
        session(add()).run(None, {"A": np.zeros(1, np.float32)})
    assert str(caught.value) == "Required inputs (['B']) are missing from input feed (['A'])."


def test_initializer_that_is_an_input_need_not_be_fed():
    weight = h.make_tensor("B", T.FLOAT, [2], [10, 20])
    ports = [tensor(name, T.FLOAT, [2]) for name in ("A", "B", "C")]
    s = session(model([h.make_node("Add", ["A", "B"], ["C"])], ports[:2], ports[2:], [weight]))
    assert [port.name for port in s.get_inputs()] == ["A"]
    assert [(p.name, p.type, p.shape) for p in s.get_overridable_initializers()] == [("B", "tensor(float)", [2])]
    one = np.ones(2, np.float32)
    np.testing.assert_array_equal(s.run(None, {"A": one})[0], [11, 21])
    np.testing.assert_array_equal(s.run(None, {"A": one, "B": one})[0], [2, 2])


@pytest.mark.parametrize(
    "feed, names, text",
    [
        ({"X": X, "Z": X}, None, "Invalid input name: Z"),
        ({"X": X}, ["zz"], "Invalid output name:"),
        (
            {"X": X.astype(np.float64)},
            None,
            "Unexpected input data type. Actual: (tensor(double)) , expected: (tensor(float))",
        ),
        (
            {"X": X[0]},
            None,
            "Invalid rank for input: X Got: 1 Expected: 2 Please fix either the inputs/outputs or the model.",
        ),
        (
            {"X": X[:, :2]},
            None,
            "Got invalid dimensions for input: X for the following indices\n index: 1 Got: 2 Expected: 3",
        ),
        ({"X": np.array([["a", "b", "c"]])}, None, "Actual: (tensor(string)) , expected: (tensor(float))"),
        ({"X": X > 0}, None, "Actual: (tensor(bool)) , expected: (tensor(float))"),
    ],
    ids=["input name", "output name", "type", "rank", "dimension", "strings", "bools"],
)
def test_what_the_engine_refuses(relu_session, feed, names, text):
    with pytest.raises(errors.InvalidArgument) as caught:
        relu_session.run(names, feed)
    assert str(caught.value).startswith("[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : ")
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda s: s.run("Y", {"X": X}), TypeError),
        (lambda s: s.run([1], {"X": X}), TypeError),
        (lambda s: s.run(None, [X]), TypeError),
        (lambda s: s.run(None, {1: X}), TypeError),
        (lambda s: s.run(None, {"X": X}, 5), TypeError),
        (lambda s: s.run(None, {"X": None}), ValueError),
        (lambda s: s.run(None, {"X": np.array(["2020-01-01"], "M8[D]")}), TypeError),
        (lambda s: s.run(None, {"X": [[1, 2], [3]]}), ValueError),
        (lambda s: s.run(None, {"X": object()}), (TypeError, ValueError)),
    ],
)
def test_what_never_reaches_the_engine(relu_session, call, kind):
    with pytest.raises(kind):
        call(relu_session)


def test_keywords(relu_session):
    results = relu_session.run(output_names=["Y"], input_feed={"X": X}, run_options=ort.RunOptions())
    np.testing.assert_array_equal(results[0], Y)


def test_run_with_ort_values(relu_session):
    value = ort.OrtValue.ortvalue_from_numpy(X)
    (result,) = relu_session.run_with_ort_values(["Y"], {"X": value})
    assert isinstance(result, ort.OrtValue) and result.shape() == [2, 3]
    np.testing.assert_array_equal(result.numpy(), Y)
    (again,) = relu_session.run_with_ort_values(None, {"X": result})
    np.testing.assert_array_equal(again.numpy(), Y)
    with pytest.raises(ValueError, match="missing"):
        relu_session.run_with_ort_values(None, {})
    with pytest.raises(TypeError):
        relu_session.run_with_ort_values(None, {"X": X})


def test_run_with_ortvaluevector(relu_session):
    feeds, fetches = ort.OrtValueVector(), ort.OrtValueVector()
    feeds.push_back(ort.OrtValue.ortvalue_from_numpy(X))
    relu_session.run_with_ortvaluevector(ort.RunOptions(), ["X"], feeds, ["Y"], fetches, [ort.OrtDevice.make("cpu", 0)])
    np.testing.assert_array_equal(fetches[0].numpy(), Y)
    target = np.zeros((2, 3), np.float32)
    fetches = [ort.OrtValue.ortvalue_from_numpy(target)]
    relu_session.run_with_ortvaluevector(None, ["X"], feeds, ["Y"], fetches)
    np.testing.assert_array_equal(target, Y)


def test_sequences():
    kind = h.make_sequence_type_proto(h.make_tensor_type_proto(T.FLOAT, None))
    nodes = [h.make_node("Identity", ["X"], ["Y"]), h.make_node("SequenceLength", ["X"], ["L"])]
    s = session_or_skip(
        model(nodes, [h.make_value_info("X", kind)], [h.make_value_info("Y", kind), tensor("L", T.INT64, [])])
    )
    assert s.get_inputs()[0].type == "seq(tensor(float))" and s.get_inputs()[0].shape == []
    parts = [np.ones(2, np.float32), np.zeros((3, 1), np.float32), [[1.5]]]
    y, length = s.run(None, {"X": parts})
    assert length == 3 and isinstance(y, list) and [part.shape for part in y] == [(2,), (3, 1), (1, 1)]
    assert y[2][0, 0] == 1.5 and y[0].dtype == np.float32
    if OWN:  # the ABI's CreateValue of ONNX Runtime makes no empty sequence
        y, length = s.run(None, {"X": []})
        assert y == [] and length == 0
    assert s.run(["L"], {"X": tuple(parts)})[0] == 3
    with pytest.raises(errors.InvalidArgument, match="received a tensor"):
        s.run(None, {"X": np.ones((2, 2), np.float32)})
    (value,) = s.run_with_ort_values(
        ["Y"],
        {"X": ort.OrtValue.ortvalue_from_sequence([ort.OrtValue.ortvalue_from_numpy(part) for part in parts[:2]])},
    )
    assert value.is_tensor_sequence() and value.data_type() == "seq(tensor(float))" and not value.is_tensor()
    assert [element.shape() for element in value.elements()] == [[2], [3, 1]]


def test_optionals():
    kind = h.make_optional_type_proto(h.make_tensor_type_proto(T.FLOAT, ["n"]))
    nodes = [h.make_node("OptionalHasElement", ["X"], ["H"]), h.make_node("Identity", ["X"], ["Y"])]
    s = session_or_skip(
        model(nodes, [h.make_value_info("X", kind)], [tensor("H", T.BOOL, []), h.make_value_info("Y", kind)])
    )
    assert s.get_inputs()[0].type == "optional(tensor(float))" and s.get_inputs()[0].shape == ["n"]
    has, y = s.run(None, {"X": np.ones(2, np.float32)})
    assert has and y.shape == (2,)
    for feed in ({"X": None}, {}):
        has, y = s.run(None, feed)
        assert not has and y is None


def test_maps():
    value = h.make_tensor_type_proto(T.FLOAT, [])
    kind = h.make_map_type_proto(T.STRING, value)
    node = h.make_node("DictVectorizer", ["X"], ["Y"], domain="ai.onnx.ml", string_vocabulary=["a", "b", "c"])
    s = session_or_skip(model([node], [h.make_value_info("X", kind)], [tensor("Y", T.FLOAT, [None, 3])], ml=1))
    assert s.get_inputs()[0].type == "map(string,tensor(float))"
    np.testing.assert_array_equal(s.run(None, {"X": {"a": 1.5, "c": 2}})[0], [[1.5, 0, 2]])
    with pytest.raises(TypeError):
        s.run(None, {"X": [("a", 1)]})


def test_maps_in_a_sequence():
    s_bytes = open(ort.datasets.get_example("logreg_iris.onnx"), "rb").read()
    try:
        s = ort.InferenceSession(s_bytes)
    except errors.NotImplemented as error:
        pytest.skip(str(error))
    assert [port.type for port in s.get_outputs()] == ["tensor(int64)", "seq(map(int64,tensor(float)))"]
    label, rows = s.run(None, {"float_input": np.array([[0.5, 0.2], [4, 1.3], [6, 2.2]], np.float32)})
    assert label.dtype == np.int64 and label.shape == (3,)
    assert [max(row, key=row.get) for row in rows] == label.tolist()
    assert all(
        sorted(row) == [0, 1, 2] and isinstance(row[0], float) and abs(sum(row.values()) - 1) < 1e-6 for row in rows
    )


def test_session_dies_when_it_is_let_go():
    s = session(relu())
    s.run(None, {"X": X})
    alive = weakref.ref(s)
    del s
    gc.collect()
    assert alive() is None


def endless():
    """A loop that never ends while `go` is true."""
    ports = [tensor("i", T.INT64, []), tensor("c", T.BOOL, []), tensor("v", T.FLOAT, [1])]
    nodes = [h.make_node("Identity", ["c"], ["c2"]), h.make_node("Add", ["v", "v"], ["v2"])]
    body = h.make_graph(nodes, "body", ports, [tensor("c2", T.BOOL, []), tensor("v2", T.FLOAT, [1])])
    loop = h.make_node("Loop", ["", "go", "X"], ["Y"], body=body)
    return model([loop], [tensor("X", T.FLOAT, [1]), tensor("go", T.BOOL, [])], [tensor("Y", T.FLOAT, [1])])


@pytest.fixture
def interrupts():
    """SIGINT as a program in the foreground has it: in the background of a shell it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.own
@pytest.mark.parametrize("options", [None, ort.RunOptions()])
@pytest.mark.parametrize("bound", [False, True])
def test_interrupt_stops_a_run(interrupts, options, bound):
    s = session(endless())
    x = np.ones(1, np.float32)

    def run(go):
        feed = {"X": x, "go": np.array(go)}
        if not bound:
            return s.run(None, feed, options)[0]
        binding = s.io_binding()
        for name, value in feed.items():
            binding.bind_cpu_input(name, value)
        binding.bind_output("Y")
        s.run_with_iobinding(binding, options)
        return binding.copy_outputs_to_cpu()[0]

    for _ in range(2):
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            run(True)
        np.testing.assert_array_equal(run(False), x)  # the options are as they were


@pytest.mark.own
def test_handlers_of_the_program_stay(interrupts):
    s = session(endless())
    seen, options = [], ort.RunOptions()
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        for delay, act in ((0.1, lambda: os.kill(os.getpid(), signal.SIGINT)), (0.4, lambda: setattr(options, "terminate", True))):
            threading.Timer(delay, act).start()
        with pytest.raises(errors.Fail):
            s.run(None, {"X": np.ones(1, np.float32), "go": np.array(True)}, options)
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [1]
