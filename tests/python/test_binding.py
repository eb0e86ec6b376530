"""IOBinding."""

import gc

import numpy as np
import pytest
from small_models import T, add, relu, session, two_outputs

import trunnion as ort
from trunnion import errors

ONES, NINES = np.ones(2, np.float32), np.full(2, 9, np.float32)


@pytest.fixture
def bound():
    s = session(add())
    return s, s.io_binding()


def test_arrays_in_and_new_arrays_out(bound):
    s, binding = bound
    a = ONES.copy()
    binding.bind_cpu_input("A", a)
    binding.bind_cpu_input("B", [10.0, 20.0])
    binding.bind_output("C")
    s.run_with_iobinding(binding)
    (first,) = binding.copy_outputs_to_cpu()
    np.testing.assert_array_equal(first, [11, 21])
    a += 1  # inputs are read in place, by every run
    s.run_with_iobinding(binding, ort.RunOptions())
    np.testing.assert_array_equal(binding.get_outputs()[0].numpy(), [12, 22])
    np.testing.assert_array_equal(first, [11, 21])
    assert len(binding.get_outputs_as_ortvaluevector()) == 1


def test_values_in_and_out(bound):
    s, binding = bound
    out = ort.OrtValue.ortvalue_from_shape_and_type([2], np.float32)
    binding.bind_ortvalue_input("A", ort.OrtValue.ortvalue_from_numpy(ONES))
    binding.bind_ortvalue_input("B", ort.OrtValue.ortvalue_from_numpy(NINES))
    binding.bind_ortvalue_output("C", out)
    gc.collect()
    s.run_with_iobinding(binding)
    np.testing.assert_array_equal(out.numpy(), [10, 10])
    assert binding.get_outputs()[0].data_ptr() == out.data_ptr()


def test_addresses(bound):
    s, binding = bound
    out = np.zeros(2, np.float32)
    binding.bind_input("A", "cpu", 0, np.float32, [2], ONES.ctypes.data)
    binding.bind_input("B", ort.OrtDevice.make("cpu", 0), 0, T.FLOAT, (2,), NINES.ctypes.data)
    binding.bind_output("C", "cpu", 0, np.float32, [2], out.ctypes.data)
    s.run_with_iobinding(binding)
    np.testing.assert_array_equal(out, [10, 10])
    binding.bind_output("C", "cpu", 0, np.float32, [2])  # a new tensor
    s.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.get_outputs()[0].numpy(), [10, 10])
    with pytest.raises(ValueError, match="element_type"):
        binding.bind_output("C", shape=[2])


def test_output_values_outlive_the_binding(bound):
    s, binding = bound
    for name in ("A", "B"):
        binding.bind_cpu_input(name, ONES)
    binding.bind_ortvalue_output("C", ort.OrtValue.ortvalue_from_numpy(np.zeros(2, np.float32)))
    s.run_with_iobinding(binding)
    array = binding.get_outputs()[0].numpy()
    del s, binding, bound
    gc.collect()
    np.testing.assert_array_equal(array, [2, 2])


def test_order_of_outputs():
    s = session(two_outputs())
    binding = s.io_binding()
    binding.bind_cpu_input("X", np.array([1, -2], np.float32))
    binding.bind_output("absolute")
    binding.bind_output("negative")
    binding.bind_output("absolute")  # again: keeps its place
    s.run_with_iobinding(binding)
    absolute, negative = binding.copy_outputs_to_cpu()
    np.testing.assert_array_equal(absolute, [1, 2])
    np.testing.assert_array_equal(negative, [-1, 2])


def test_clearing(bound):
    s, binding = bound
    for name in ("A", "B"):
        binding.bind_cpu_input(name, ONES)
    binding.bind_output("C")
    binding.synchronize_inputs()
    s.run_with_iobinding(binding)
    binding.synchronize_outputs()
    binding.clear_binding_inputs()
    binding.clear_binding_outputs()
    assert binding.get_outputs() == []
    with pytest.raises(errors.Error):
        s.run_with_iobinding(binding)


def test_native_argument_order(bound):
    s, binding = bound
    native = binding._iobinding
    cpu = ort.OrtDevice(ort.OrtDevice.cpu(), ort.OrtDevice.default_memory(), 0)
    out = np.zeros(2, np.float32)
    native.bind_input("A", ONES)
    native.bind_input("B", cpu, np.float32, [2], NINES.ctypes.data)
    native.bind_output("C", cpu, np.float32, [2], out.ctypes.data)
    s._sess.run_with_iobinding(native, None)
    np.testing.assert_array_equal(out, [10, 10])
    assert isinstance(ort.SessionIOBinding(s), ort.SessionIOBinding) and native.get_outputs()[0].shape() == [2]


def test_what_is_refused(bound):
    s, binding = bound
    with pytest.raises(errors.InvalidArgument, match="Failed to find NodeArg with name: Q"):
        binding.bind_cpu_input("Q", ONES)
    with pytest.raises(RuntimeError, match="device"):
        binding.bind_input("A", "cuda", 0, np.float32, [2], ONES.ctypes.data)
    with pytest.raises(RuntimeError, match="device"):
        binding.bind_output("C", "cuda")
    with pytest.raises(TypeError):
        ort.IOBinding(5)
    binding.bind_cpu_input("A", np.ones(2))
    binding.bind_cpu_input("B", ONES)
    binding.bind_output("C")
    with pytest.raises(errors.InvalidArgument, match=r"tensor\(double\)"):
        s.run_with_iobinding(binding)


def test_binding_keeps_its_session():
    binding = session(relu()).io_binding()
    gc.collect()
    binding.bind_cpu_input("X", np.ones((1, 3), np.float32))
    binding.bind_output("Y")
    binding._session.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], np.ones((1, 3)))


def test_maps_come_as_from_run():
    s = ort.InferenceSession(ort.datasets.get_example("logreg_iris.onnx"))
    x = np.array([[0.5, 0.2], [4, 1.3], [6, 2.2]], np.float32)
    binding = s.io_binding()
    binding.bind_cpu_input("float_input", x)
    for port in s.get_outputs():
        binding.bind_output(port.name)
    s.run_with_iobinding(binding)
    label, rows = binding.copy_outputs_to_cpu()
    expected, expected_rows = s.run(None, {"float_input": x})
    np.testing.assert_array_equal(label, expected)
    assert rows == expected_rows and isinstance(rows[0], dict)
