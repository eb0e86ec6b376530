"""Settings of the process, log lines, providers, devices, enumerations."""

import numpy as np
import pytest
from small_models import T, identity, relu, session

import trunnion as ort
from trunnion import errors

CPU = "CPUExecutionProvider"


def test_versions():
    assert ort.__version__ == "0.1.0" and ort.get_version_string().split(".")[0] == "1"
    assert int(ort.get_version_string().split(".")[1]) >= 24
    assert isinstance(ort.get_build_info(), str) and ort.get_build_info()
    assert ort.get_device() == "CPU" and ort.has_collective_ops() is False


def test_providers():
    assert CPU in ort.get_available_providers()
    names = ort.get_all_providers()
    assert {"CUDAExecutionProvider", "OpenVINOExecutionProvider", CPU} <= set(names) and len(names) >= 19
    assert names[-1] == CPU and set(ort.get_available_providers()) <= set(names)


def test_devices():
    cpu, *_ = [device for device in ort.get_ep_devices() if device.ep_name == CPU]
    assert cpu.device.type == ort.OrtHardwareDeviceType.CPU and isinstance(cpu.ep_metadata, dict)
    assert isinstance(cpu.device.vendor, str) and isinstance(cpu.device.metadata, dict) and cpu.ep_vendor


def test_ort_device():
    device = ort.OrtDevice.make("cpu", 0)
    assert (device.device_id(), device.device_type(), device.device_vendor_id(), device.device_mem_type()) == (
        0,
        0,
        0,
        0,
    )
    device = ort.OrtDevice.make("cuda", 1)
    assert (device.device_id(), device.device_type(), device.device_vendor_id()) == (1, 1, ort.OrtDeviceVendorId.NVIDIA)
    assert ort.OrtDevice.make("gpu", 0, 0x8086).device_vendor_id() == 0x8086
    assert ort.OrtDevice(device).device_id() == 1
    state = ort.capi._pybind_state
    raw = state.OrtDevice(state.OrtDevice.npu(), state.OrtDevice.default_memory(), 0x5143, 2)
    assert (raw.device_type(), raw.vendor_id(), raw.device_id()) == (3, 0x5143, 2)
    assert state.OrtDevice(1, 0, 3).device_id() == 3
    with pytest.raises(ValueError, match="Unsupported device type: foo"):
        ort.OrtDevice.make("foo", 0)


def test_memory_info():
    info = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    assert info.name == "Cpu" and info.allocator_type == ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR
    assert info.mem_type == ort.OrtMemType.DEFAULT and info.device_id == 0 and info.device_vendor_id == 0
    value = ort.OrtValue.ortvalue_from_shape_and_type([2], np.float32, memory_info=info)
    assert value.shape() == [2]


def test_shared_allocator(python):
    code = (
        "import trunnion as ort\n"
        "info = ort.OrtMemoryInfo('Cpu', ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)\n"
        "ort.create_and_register_allocator(info, ort.OrtArenaCfg({'max_mem': 1 << 30, 'arena_extend_strategy': 1}))\n"
        "o = ort.SessionOptions(); o.add_session_config_entry('session.use_env_allocators', '1')\n"
        "s = ort.InferenceSession(ort.datasets.get_example('mul_1.onnx'), o)\n"
        "print(s.run(None, {'X': [[1, 1]] * 3})[0].sum())\n"
    )
    assert python(code=code).stdout.strip() == "21.0"
    config = ort.OrtArenaCfg(0, 1, -1, -1)
    assert config.arena_extend_strategy == 1 and config.max_mem == 0
    with pytest.raises(ValueError, match="Invalid OrtArenaCfg option: max_memory"):
        ort.OrtArenaCfg({"max_memory": 1})


def test_enumerations():
    level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    assert (
        repr(level) == "<GraphOptimizationLevel.ORT_ENABLE_ALL: 99>"
        and str(level) == "GraphOptimizationLevel.ORT_ENABLE_ALL"
    )
    assert level == 99 and int(level) == 99 and level.name == "ORT_ENABLE_ALL" and level.value == 99
    assert list(ort.GraphOptimizationLevel.__members__) == [
        "ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_LAYOUT", "ORT_ENABLE_ALL"]  # fmt: skip
    assert ort.OrtMemType.CPU == -1 == ort.OrtMemType.CPU_OUTPUT and ort.OrtMemType.CPU_INPUT == -2
    assert ort.OrtSparseFormat.ORT_SPARSE_BLOCK_SPARSE == 4 and ort.OrtDeviceMemoryType.HOST_ACCESSIBLE == 5


def test_default_severity():
    for level in range(5):
        ort.set_default_logger_severity(level)
    for level in (-1, 5):
        with pytest.raises(RuntimeError, match="Invalid logging severity"):
            ort.set_default_logger_severity(level)
    ort.set_default_logger_verbosity(1)
    session(relu())
    ort.set_default_logger_verbosity(0)


def test_log_lines_go_to_a_callback():
    lines = []
    ort.set_default_logger_callback(lambda *line: lines.append(line), 0)
    try:
        options = ort.SessionOptions()
        options.logid, options.log_severity_level = "this one", 0
        session(relu(), options)
    finally:
        ort.set_default_logger_callback(None, 4)
    assert lines
    mine = [line for line in lines if line[2] == "this one"]
    assert mine and all(isinstance(line[0], int) and 0 <= line[0] <= 4 for line in lines)
    assert all(isinstance(text, str) for line in lines for text in line[1:]) and all(len(line) == 5 for line in lines)
    count = len(lines)
    session(relu())
    assert len(lines) == count
    with pytest.raises(TypeError):
        ort.set_default_logger_callback(5)


def test_callback_that_raises(capfd, monkeypatch):
    monkeypatch.setattr("sys.unraisablehook", lambda what: None)
    ort.set_default_logger_callback(lambda *line: 1 / 0, 0)
    try:
        options = ort.SessionOptions()
        options.log_severity_level = 0
        session(relu(), options)
    finally:
        ort.set_default_logger_callback(None, 4)


def test_log_lines_on_stderr(python):
    code = (
        "import trunnion as ort\n"
        "o = ort.SessionOptions(); o.log_severity_level = 0; o.logid = 'named'\n"
        "ort.InferenceSession(ort.datasets.get_example('mul_1.onnx'), o)\n"
    )
    lines = python(code=code).stderr.splitlines()
    import re

    form = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9} \[[VIWEF]:\w+:named, [^\]]*\] .")
    assert any(form.match(line) for line in lines), lines[:5]
    assert python(code=code.replace("= 0", "= 3")).stderr == ""


def test_seed():
    ort.set_seed(42)
    try:
        session(identity(T.FLOAT)).run(None, {"X": np.ones(1, np.float32)})
    finally:
        from trunnion import _environment

        _environment._seed = None


@pytest.mark.own
def test_seed_decides_what_random_operators_give():
    from small_models import h, model, tensor

    from trunnion import _environment

    options = ort.SessionOptions()
    for key, value in {"session.strict_config": "1", "session.random_seed": "1"}.items():
        options.add_session_config_entry(key, value)
    try:
        session(relu(), options)
    except errors.InvalidArgument as error:
        pytest.skip(str(error))
    made = model([h.make_node("RandomUniform", [], ["Y"], shape=[8])], [], [tensor("Y", T.FLOAT, [8])])
    try:
        ort.set_seed(1)
        try:
            first, again = session(made), session(made)
        except errors.NotImplemented as error:
            pytest.skip(str(error))
        ort.set_seed(2)
        other = session(made)
    finally:
        _environment._seed = None
    y = first.run(None, {})[0]
    np.testing.assert_array_equal(y, again.run(None, {})[0])
    assert not np.array_equal(y, other.run(None, {})[0])


def test_copy_tensors():
    source = ort.OrtValue.ortvalue_from_numpy(np.arange(3, dtype=np.float32))
    target = ort.OrtValue.ortvalue_from_numpy(np.zeros(3, np.float32))
    try:
        ort.copy_tensors([source], [target])
    except errors.NotImplemented as error:
        pytest.skip(str(error))
    np.testing.assert_array_equal(target.numpy(), [0, 1, 2])


def test_things_without_effect(capsys):
    ort.enable_telemetry_events()
    ort.disable_telemetry_events()
    ort.preload_dlls()
    ort.print_debug_info()
    assert "trunnion version: 0.1.0" in capsys.readouterr().out


def test_plugin_library_that_is_not_there():
    with pytest.raises(errors.Error):
        ort.register_execution_provider_library("mine", "/nowhere/libmine.so")
    assert CPU in ort.get_available_providers()


def test_examples():
    s = ort.InferenceSession(ort.datasets.get_example("mul_1.onnx"))
    np.testing.assert_array_equal(s.run(None, {"X": np.ones((3, 2), np.float32)})[0], [[1, 2], [3, 4], [5, 6]])
    with pytest.raises(FileNotFoundError, match="nope"):
        ort.datasets.get_example("nope.onnx")
