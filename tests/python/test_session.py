"""Making sessions: models in every form, providers, metadata, pickles."""

import copy
import gc
import mmap
import multiprocessing
import os
import pathlib
import pickle
import warnings

import numpy as np
import pytest
from small_models import T, h, model, relu, session, tensor

import trunnion as ort
from trunnion import errors

X = np.array([[-1, 2, 3]], np.float32)
Y = np.array([[0, 2, 3]], np.float32)
CPU = "CPUExecutionProvider"


def runs(s):
    np.testing.assert_array_equal(s.run(None, {"X": X})[0], Y)
    return True


@pytest.fixture(scope="module")
def data():
    return relu().SerializeToString()


@pytest.fixture
def path(tmp_path, data):
    path = tmp_path / "mödel.onnx"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "form",
    [bytes, bytearray, memoryview, lambda b: np.frombuffer(b, np.uint8)],
    ids=["bytes", "bytearray", "memoryview", "array"],
)
def test_models_in_memory(data, form):
    s = ort.InferenceSession(form(data))
    gc.collect()
    assert runs(s)


def test_mapped_model(path):
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        s = ort.InferenceSession(mapped)
        assert runs(s)
        del s
        gc.collect()


def test_paths(path, monkeypatch):
    assert runs(ort.InferenceSession(str(path))) and runs(ort.InferenceSession(path))
    monkeypatch.chdir(path.parent)
    assert runs(ort.InferenceSession(path.name))


def test_what_is_no_model(tmp_path, data):
    with pytest.raises(
        errors.NoSuchFile, match=r"^\[ONNXRuntimeError\] : 3 : NO_SUCHFILE : Load model from .*nope.onnx failed"
    ):
        ort.InferenceSession(tmp_path / "nope.onnx")
    with pytest.raises(errors.InvalidProtobuf, match=r"^\[ONNXRuntimeError\] : 7 : INVALID_PROTOBUF : "):
        ort.InferenceSession(b"abc")
    (tmp_path / "bad.onnx").write_bytes(b"garbage here")
    with pytest.raises(errors.InvalidProtobuf):
        ort.InferenceSession(tmp_path / "bad.onnx")
    with pytest.raises(errors.Error):
        ort.InferenceSession(b"")
    with pytest.raises(errors.Error):
        ort.InferenceSession(tmp_path)
    with pytest.raises(errors.Error):
        ort.InferenceSession(data[: len(data) // 2])
    for wrong in (5, None, 1.5, ["x"]):
        with pytest.raises(TypeError, match="Unable to load from type"):
            ort.InferenceSession(wrong)
    with pytest.raises(TypeError, match="SessionOptions"):
        ort.InferenceSession(data, 5)


def test_session_whose_constructor_failed():
    class Kept(ort.InferenceSession):
        def __init__(self):
            try:
                super().__init__(b"abc")
            except errors.InvalidProtobuf:
                pass

    with pytest.raises(RuntimeError, match="no model"):
        Kept().run(None, {})


def test_error_classes():
    assert issubclass(errors.Fail, Exception) and errors.Fail.code == 1
    assert [errors.CLASSES[code].code for code in range(1, 16)] == list(range(1, 16))
    state = ort.capi.onnxruntime_pybind11_state
    for kind in errors.CLASSES.values():
        assert getattr(state, kind.__name__) is kind
    assert str(errors.from_status(9, "x")) == "[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : x"


def test_unknown_operator():
    made = model([h.make_node("NoSuchThing", ["X"], ["Y"])], [tensor("X", T.FLOAT, [1])], [tensor("Y", T.FLOAT, [1])])
    with pytest.raises(errors.Error, match="NoSuchThing"):
        session(made)


@pytest.mark.parametrize("providers", [None, [], [CPU], (CPU,), CPU, [(CPU, {})], [(CPU, {"a": 1})]])
def test_providers(data, providers):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s = ort.InferenceSession(data, providers=providers)
    assert s.get_providers() == [CPU] and list(s.get_provider_options()) == [CPU]


def test_provider_options(data):
    s = ort.InferenceSession(data, providers=[CPU], provider_options=[{"k": 1}])
    assert s.get_provider_options() == {CPU: {"k": "1"}}
    with pytest.raises(ValueError, match="same length"):
        ort.InferenceSession(data, providers=[CPU], provider_options=[{}, {}])
    with pytest.raises(ValueError, match="Only string values"):
        ort.InferenceSession(data, providers=[(CPU, {})], provider_options=[{}])
    with pytest.raises(ValueError, match="tuples"):
        ort.InferenceSession(data, providers=[5])


def test_the_null_provider(data):
    null = "NullExecutionProvider"
    s = ort.InferenceSession(data, providers=[null, CPU])
    assert s.get_providers() == [null, CPU] and null not in ort.get_available_providers()
    nodes = s.placement()["nodes"]
    assert nodes and all(n["provider"] == CPU and n["refused"][0]["provider"] == null for n in nodes)


def test_the_cpu_ahead_of_another_provider(data):
    s = ort.InferenceSession(data, providers=[CPU, "NullExecutionProvider"])
    assert all(n["provider"] == CPU and not n["refused"] for n in s.placement()["nodes"])


def test_provider_that_exists_nowhere(data):
    with pytest.raises(ValueError, match="Unknown provider 'CPUExecutionProvder'. Did you mean 'CPUExecutionProvider'"):
        ort.InferenceSession(data, providers=["CPUExecutionProvder", CPU])
    with pytest.raises(ValueError, match="Did you mean 'CUDAExecutionProvider'"):
        ort.InferenceSession(data, providers=["cuda", CPU])


def test_provider_that_is_missing_here(data):
    missing = next(
        name for name in ("RknpuExecutionProvider", "DmlExecutionProvider") if name not in ort.get_available_providers()
    )
    with pytest.warns(
        UserWarning, match=f"Specified provider '{missing}' is not in available provider names.Available providers: '"
    ):
        s = ort.InferenceSession(data, providers=[missing, CPU])
    assert s.get_providers() == [CPU]
    with pytest.raises(ValueError, match="None of the providers .* is available here"):
        ort.InferenceSession(data, providers=[missing])


def test_duplicate_provider(data):
    with pytest.warns(UserWarning, match="Duplicate provider"):
        assert ort.InferenceSession(data, providers=[CPU, CPU]).get_providers() == [CPU]


def test_set_providers(data):
    s = ort.InferenceSession(data)
    s.set_providers([CPU])
    assert runs(s) and s.get_providers() == [CPU]
    with pytest.raises(ValueError):
        s.set_providers(["Nowhere"])
    assert runs(s)
    s.disable_fallback()
    s.enable_fallback()


def test_interface(data):
    s = ort.InferenceSession(data)
    (x,), (y,) = s.get_inputs(), s.get_outputs()
    assert (x.name, x.type, x.shape) == ("X", "tensor(float)", ["N", 3]) and (y.name, y.shape) == ("Y", ["N", 3])
    assert s.get_overridable_initializers() == [] and s.get_tuning_results() == []
    (memory,) = s.get_input_memory_infos()
    assert memory.name == "Cpu" and memory.device_id == 0 and memory.mem_type == ort.OrtMemType.DEFAULT
    assert len(s.get_output_memory_infos()) == 1


def test_metadata():
    made = relu()
    made.producer_name, made.domain, made.model_version, made.doc_string = "me", "org.test", 7, "what it is"
    made.graph.doc_string = "about the graph"
    for key, value in {"a": "1", "ü": "€"}.items():
        entry = made.metadata_props.add()
        entry.key, entry.value = key, value
    facts = session(made).get_modelmeta()
    assert (facts.producer_name, facts.domain, facts.version, facts.description) == ("me", "org.test", 7, "what it is")
    assert facts.graph_name == "graph" and facts.graph_description == "about the graph"
    assert facts.custom_metadata_map == {"a": "1", "ü": "€"}
    assert session(relu()).get_modelmeta().custom_metadata_map == {}


def test_graph_assignment():
    options = ort.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    (part,) = session(relu(), options).get_provider_graph_assignment_info()
    assert part.ep_name == CPU and [(node.name, node.op_type) for node in part.get_nodes()] == [("r", "Relu")]


def test_pickles(data, path):
    for source in (data, bytearray(data), path):
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        s = ort.InferenceSession(source, options, providers=[CPU], disabled_optimizers=["ConstantFolding"])
        for twin in (pickle.loads(pickle.dumps(s)), copy.copy(s), copy.deepcopy(s)):
            assert twin is not s and runs(twin)
            assert twin.get_session_options().intra_op_num_threads == 1 and twin.get_providers() == [CPU]


def test_pickle_of_a_relative_path(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    pickled = pickle.dumps(ort.InferenceSession(path.name))
    monkeypatch.chdir("/")
    assert runs(pickle.loads(pickled))


def in_worker(s):
    return s.run(None, {"X": X})[0], os.getpid()


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_sessions_go_to_worker_processes(data, method):
    with multiprocessing.get_context(method).Pool(1) as pool:
        y, worker = pool.apply(in_worker, (ort.InferenceSession(data),))
    np.testing.assert_array_equal(y, Y)
    assert worker != os.getpid()


def test_subclass(data):
    class Mine(ort.InferenceSession):
        def double(self, x):
            return 2 * self.run(None, {"X": x})[0]

    np.testing.assert_array_equal(Mine(data).double(X), 2 * Y)


def test_two_models_of_one_file(path):
    first, second = ort.InferenceSession(path), ort.InferenceSession(path)
    del first
    assert runs(second)
    assert isinstance(second._model_path, str) and pathlib.Path(second._model_path) == path


def test_path_that_is_no_utf8(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"b\xffad.onnx")
    with open(path, "wb") as file:
        file.write(relu().SerializeToString())
    assert ort.InferenceSession(os.fsdecode(path)).get_inputs()[0].name == "X"
