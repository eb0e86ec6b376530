"""SessionOptions and RunOptions."""

import base64
import copy
import pickle

import numpy as np
import pytest
from small_models import T, add, h, matmul, model, onnx, relu, session, tensor

import trunnion as ort
from trunnion import errors

X = np.array([[-1, 2, 3]], np.float32)
DEFAULTS = {
    "graph_optimization_level": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
    "execution_mode": ort.ExecutionMode.ORT_SEQUENTIAL,
    "execution_order": ort.ExecutionOrder.DEFAULT,
    "intra_op_num_threads": 0,
    "inter_op_num_threads": 0,
    "enable_profiling": False,
    "profile_file_prefix": "onnxruntime_profile_",
    "optimized_model_filepath": "",
    "enable_cpu_mem_arena": True,
    "enable_mem_pattern": True,
    "enable_mem_reuse": True,
    "log_severity_level": -1,
    "log_verbosity_level": 0,
    "logid": "",
    "use_deterministic_compute": False,
    "use_per_session_threads": True,
}


def test_defaults():
    options = ort.SessionOptions()
    for name, value in DEFAULTS.items():
        assert getattr(options, name) == value, name
    assert not options.has_providers()


def test_settings_are_kept_and_work():
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    options.intra_op_num_threads, options.inter_op_num_threads = 2, 2
    options.enable_mem_pattern = options.enable_cpu_mem_arena = options.enable_mem_reuse = False
    options.logid, options.log_severity_level, options.log_verbosity_level = "me", 3, 1
    options.use_deterministic_compute = True
    s = session(relu(), options)
    np.testing.assert_array_equal(s.run(None, {"X": X})[0], [[0, 2, 3]])
    assert s.get_session_options() is options and options.intra_op_num_threads == 2 and options.logid == "me"
    assert options.graph_optimization_level is ort.GraphOptimizationLevel.ORT_ENABLE_BASIC


def test_levels_as_numbers():
    options = ort.SessionOptions()
    for value in (0, 1, 2, 3, 99):
        options.graph_optimization_level = value
        assert options.graph_optimization_level == ort.GraphOptimizationLevel(value)
    with pytest.raises(ValueError):
        options.graph_optimization_level = 7


@pytest.mark.parametrize(
    "name, value", [("intra_op_num_threads", "4"), ("intra_op_num_threads", 1.5), ("optimized_model_filepath", 5)]
)
def test_wrong_types(name, value):
    with pytest.raises(TypeError):
        setattr(ort.SessionOptions(), name, value)


def test_unknown_attribute():
    with pytest.raises(AttributeError):
        ort.SessionOptions().intra_op_threads = 1


def test_entries():
    options = ort.SessionOptions()
    with pytest.raises(RuntimeError, match="SessionOptions does not have configuration with key: a"):
        options.get_session_config_entry("a")
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    with pytest.raises((errors.Error, RuntimeError)):
        options.add_session_config_entry("", "x")
    session(relu(), options)


@pytest.mark.own
def test_unknown_entries_under_strict_config():
    options = ort.SessionOptions()
    options.add_session_config_entry("session.strict_config", "1")
    options.add_session_config_entry("session.intra_op.allow_spining", "0")
    with pytest.raises(errors.InvalidArgument, match="session.intra_op.allow_spinning"):
        session(relu(), options)


def test_free_dimensions():
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_name("N", 4)
    s = session(relu(), options)
    assert s.get_inputs()[0].shape == [4, 3]
    made = relu()
    made.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_denotation("DATA_BATCH", 2)
    assert session(made, options).get_inputs()[0].shape == [2, 3]


def test_optimized_model(tmp_path):
    path = tmp_path / "optimized.onnx"
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = path
    made, weights = matmul(8)
    session(made, options)
    x = np.random.default_rng(1).standard_normal((2, 8)).astype(np.float32)
    onnx.checker.check_model(onnx.load(path))
    np.testing.assert_allclose(ort.InferenceSession(path).run(None, {"t0": x})[0], x @ weights[0], rtol=1e-4, atol=1e-5)


def test_disabled_optimizers_and_other_keywords():
    s = session(relu(), disabled_optimizers={"ConstantFolding", "EliminateIdentity"}, enable_fallback=0)
    np.testing.assert_array_equal(s.run(None, {"X": X})[0], [[0, 2, 3]])
    with pytest.warns(UserWarning, match="'no_such_argument'"):
        session(relu(), no_such_argument=1)


def test_initializers_given_by_the_user():
    weight = h.make_tensor("W", T.FLOAT, [3], [1, 1, 1])
    made = model(
        [h.make_node("Add", ["X", "W"], ["Y"])], [tensor("X", T.FLOAT, [3])], [tensor("Y", T.FLOAT, [3])], [weight]
    )
    options = ort.SessionOptions()
    options.add_initializer("W", ort.OrtValue.ortvalue_from_numpy(np.array([10, 20, 30], np.float32)))
    s = session(made, options)
    del options
    np.testing.assert_array_equal(s.run(None, {"X": np.zeros(3, np.float32)})[0], [10, 20, 30])


def external(tmp_path):
    weight = onnx.numpy_helper.from_array(np.arange(300, dtype=np.float32), "W")
    made = model(
        [h.make_node("Add", ["X", "W"], ["Y"])], [tensor("X", T.FLOAT, [300])], [tensor("Y", T.FLOAT, [300])], [weight]
    )
    path = tmp_path / "model.onnx"
    onnx.save(made, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path


def test_external_data(tmp_path):
    path = external(tmp_path)
    x = np.ones(300, np.float32)
    np.testing.assert_array_equal(ort.InferenceSession(path).run(None, {"X": x})[0], np.arange(300) + 1)

    in_memory = path.read_bytes()
    options = ort.SessionOptions()
    data = bytearray((tmp_path / "weights.bin").read_bytes())
    options.add_external_initializers_from_files_in_memory(["weights.bin"], [data], [len(data)])
    np.testing.assert_array_equal(ort.InferenceSession(in_memory, options).run(None, {"X": x})[0], np.arange(300) + 1)

    options = ort.SessionOptions()
    value = ort.OrtValue.ortvalue_from_numpy(np.full(300, 5, np.float32))
    options.add_external_initializers(["W"], [value])
    np.testing.assert_array_equal(ort.InferenceSession(in_memory, options).run(None, {"X": x})[0], np.full(300, 6))


def test_custom_ops_library_that_is_not_there():
    with pytest.raises(errors.Error):
        ort.SessionOptions().register_custom_ops_library("/nowhere/libops.so")


def test_copies_and_pickles():
    options = ort.SessionOptions()
    options.intra_op_num_threads = 3
    options.enable_profiling, options.profile_file_prefix = False, "p_"
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_free_dimension_override_by_name("N", 4)
    for twin in (copy.copy(options), copy.deepcopy(options), pickle.loads(pickle.dumps(options))):
        assert twin.intra_op_num_threads == 3 and twin.profile_file_prefix == "p_"
        assert twin.get_session_config_entry("session.intra_op.allow_spinning") == "0"
        assert session(relu(), twin).get_inputs()[0].shape == [4, 3]
        twin.intra_op_num_threads = 1
    assert options.intra_op_num_threads == 3
    options.add_initializer("W", ort.OrtValue.ortvalue_from_numpy(X))
    with pytest.raises(TypeError, match="add_initializer"):
        pickle.dumps(options)


def test_config_in_the_model(tmp_path, monkeypatch):
    made = relu()
    entry = made.metadata_props.add()
    entry.key, entry.value = (
        "ort_config",
        '{"session_options": {"intra_op_num_threads": 1, "graph_optimization_level": 1}}',
    )
    path = tmp_path / "m.onnx"
    onnx.save(made, path)
    assert ort.InferenceSession(path).get_session_options().intra_op_num_threads == 0
    for source in (path, made.SerializeToString()):
        options = ort.InferenceSession(source, read_config_from_model=1).get_session_options()
        assert options.intra_op_num_threads == 1 and options.graph_optimization_level == 1
    monkeypatch.setenv("ORT_LOAD_CONFIG_FROM_MODEL", "1")
    assert ort.InferenceSession(path).get_session_options().intra_op_num_threads == 1
    entry.value = '{"session_options": {"intra_op_num_threads": "many"}}'
    with pytest.raises(ValueError, match="ort_config"):
        session(made)


def test_run_options():
    options = ort.RunOptions()
    assert (options.log_severity_level, options.log_verbosity_level, options.logid) == (-1, 0, "")
    assert options.terminate is False and options.only_execute_path_to_fetches is False
    options.log_severity_level, options.log_verbosity_level, options.logid = 3, 1, "tag"
    assert (options.log_severity_level, options.log_verbosity_level, options.logid) == (3, 1, "tag")
    with pytest.raises(RuntimeError, match="RunOptions does not have configuration with key: k"):
        options.get_run_config_entry("k")
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    assert options.get_run_config_entry("memory.enable_memory_arena_shrinkage") == "cpu:0"
    options.only_execute_path_to_fetches = True
    np.testing.assert_array_equal(session(relu()).run(None, {"X": X}, options)[0], [[0, 2, 3]])


def test_terminate():
    s, options = session(relu()), ort.RunOptions()
    options.terminate = True
    with pytest.raises(errors.Fail, match="Exiting due to terminate flag being set to true"):
        s.run(None, {"X": X}, options)
    options.terminate = False
    assert options.terminate is False
    s.run(None, {"X": X}, options)


def test_profiling(tmp_path):
    import json

    options = ort.SessionOptions()
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "prof")
    s = session(add(), options)
    ones = np.ones(2, np.float32)
    s.run(None, {"A": ones, "B": ones})
    assert s.get_profiling_start_time_ns() > 0
    path = s.end_profiling()
    assert path.startswith(str(tmp_path / "prof")) and path.endswith(".json")
    events = json.load(open(path))
    nodes = [event for event in events if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")]
    assert [event["args"]["op_name"] for event in nodes] == ["Add"]
    assert nodes[0]["args"]["provider"] == "CPUExecutionProvider" and nodes[0]["ph"] == "X"
    assert session(add()).end_profiling() == "" and session(add()).get_profiling_start_time_ns() == 0


def test_load_that_is_cancelled():
    options = ort.SessionOptions()
    options.set_load_cancellation_flag(True)
    with pytest.raises(errors.ModelLoadCanceled):
        session(relu(), options)
    options.set_load_cancellation_flag(False)
    session(relu(), options)


def test_sessions_that_share_the_process_pools(python):
    code = (
        "import sys, numpy as np, trunnion as ort\n"
        "ort.set_global_thread_pool_sizes(2, 1)\n"
        "o = ort.SessionOptions(); o.use_per_session_threads = False\n"
        "s = ort.InferenceSession(ort.datasets.get_example('mul_1.onnx'), o)\n"
        "print(s.run(None, {'X': np.ones((3, 2), 'f4')})[0].sum())\n"
        "try: ort.set_global_thread_pool_sizes(1, 1)\n"
        "except RuntimeError as e: print('too late')\n"
    )
    assert python(code=code).stdout.split() == ["21.0", "too", "late"]


@pytest.mark.own
def test_what_has_no_effect_is_named(monkeypatch):
    lines = []
    ort.set_default_logger_callback(lambda severity, category, logid, location, text: lines.append(text), 2)
    made = relu().SerializeToString()

    def options(strict, **entries):
        o = ort.SessionOptions()
        o.add_session_config_entry("session.strict_config", str(int(strict)))
        return o

    def dimension(strict):
        o = options(strict)
        o.add_free_dimension_override_by_name("n", 3)
        return ort.InferenceSession(made, o)

    def initializer(strict):
        o = options(strict)
        o.add_initializer("zz", ort.OrtValue.ortvalue_from_numpy(X))
        return ort.InferenceSession(made, o)

    def threads(strict):
        o = options(strict)
        o.intra_op_num_threads = -7
        return ort.InferenceSession(made, o)

    def run_entry(strict):
        o = ort.RunOptions()
        o.add_run_config_entry("foo.bar.baz", "1")
        ort.InferenceSession(made, options(strict)).run(None, {"X": X}, o)

    try:
        for make, word in (
            (dimension, "'n' (did you mean 'N'?)"),
            (initializer, "'zz'"),
            (threads, "intra_op_num_threads is -7"),
            (run_entry, "'foo.bar.baz'"),
            (lambda strict: ort.InferenceSession(made, options(strict), [("CPUExecutionProvider", {"foo": 1})]), "'foo'"),
            (lambda strict: ort.InferenceSession(made, options(strict), disabled_optimizers=["Nope"]), "'Nope'"),
        ):
            lines.clear()
            make(False)
            assert len(lines) == 1 and word in lines[0], (word, lines)
            with pytest.raises(errors.InvalidArgument) as raised:
                make(True)
            assert word in str(raised.value)
    finally:
        ort.set_default_logger_callback(None, 4)
    o = ort.SessionOptions()
    o.log_severity_level = 77
    with pytest.raises(errors.RuntimeException, match="77"):
        ort.InferenceSession(made, o)


def test_null_characters_are_refused():
    o = ort.SessionOptions()
    for set_ in (
        lambda: o.add_session_config_entry("a\0b", "1"),
        lambda: setattr(o, "optimized_model_filepath", "a\0b"),
        lambda: ort.InferenceSession("a\0b.onnx"),
        lambda: ort.InferenceSession(relu().SerializeToString()).run(None, {"X\0": X, "X": X}),
    ):
        with pytest.raises(ValueError, match="null character"):
            set_()


@pytest.mark.own
def test_profiling_ends_once(tmp_path):
    o = ort.SessionOptions()
    o.enable_profiling, o.profile_file_prefix = True, str(tmp_path / "p")
    s = ort.InferenceSession(relu().SerializeToString(), o)
    assert s.end_profiling().startswith(str(tmp_path / "p")) and s.end_profiling() == ""


# One parameter, B = [10, 20].
ADAPTER = base64.b64decode(
    "DAAAAFRPUlQAAAAA5P///wEAAAABAAAAAQAAAAQAAAABAAAAEAAAAAwAFAAEAAgADAAQAAwAAAAoAAAAGAAAAAEAAAAEAAAACAAAAAAAIEEAAKBBAQAA"
    "AAIAAAAAAAAAAQAAAEIAAAA="
)


def test_adapters(tmp_path):
    path = tmp_path / "b.onnx_adapter"
    path.write_bytes(ADAPTER)
    made = add(shape=[2])
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(2, np.float32), "B"))
    s, one = session(made), np.ones(2, np.float32)
    options, adapter = ort.RunOptions(), ort.LoraAdapter()
    with pytest.raises(RuntimeError):
        options.add_active_adapter(adapter)
    adapter.Load(str(path))
    options.add_active_adapter(adapter)
    del adapter
    np.testing.assert_array_equal(s.run(None, {"A": one})[0], one)
    np.testing.assert_array_equal(s.run(None, {"A": one}, options)[0], [11, 21])
    path.write_bytes(b"no adapter")
    with pytest.raises(errors.Error):
        ort.LoraAdapter().Load(str(path))


def test_strict_leaves_what_has_no_f64():
    options = ort.SessionOptions()
    options.add_session_config_entry("precision", "strict")
    names = ["y", "mean", "spread"]
    made = model(
        [h.make_node("LayerNormalization", ["x", "w"], names), h.make_node("Celu", ["y"], ["z"])],
        [tensor("x", T.FLOAT, [3, 8]), tensor("w", T.FLOAT, [8])],
        [tensor("z", T.FLOAT, [3, 8]), tensor("mean", T.FLOAT, [3, 1]), tensor("spread", T.FLOAT, [3, 1])],
        opset=17,
    )
    x = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)
    z, mean, spread = session(made, options).run(None, {"x": x, "w": np.ones(8, np.float32)})
    centred = x - x.mean(1, keepdims=True)
    y = centred / np.sqrt(centred.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(mean, x.mean(1, keepdims=True), atol=1e-6)
    np.testing.assert_allclose(spread, 1 / np.sqrt(x.var(1, keepdims=True) + 1e-5), rtol=1e-5)
    np.testing.assert_allclose(z, np.maximum(y, 0) + np.minimum(0, np.exp(y) - 1), atol=1e-6)
