"""OrtValue, DLPack, sparse tensors."""

import gc
import pickle
import sys

import numpy as np
import pytest
from small_models import T, identity, relu, session

import trunnion as ort
from trunnion import errors

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_facts():
    value = ort.OrtValue.ortvalue_from_numpy(X)
    assert value.shape() == [2, 3] and value.data_type() == "tensor(float)" and value.element_type() == T.FLOAT
    assert value.device_name() == "cpu" and value.tensor_size_in_bytes() == 24
    assert value.is_tensor() and value.has_value()
    assert not value.is_sparse_tensor() and not value.is_tensor_sequence()


def test_memory_is_shared_both_ways():
    x = X.copy()
    value = ort.OrtValue.ortvalue_from_numpy(x)
    assert value.data_ptr() == x.ctypes.data
    x[0, 0] = 55
    assert value.numpy()[0, 0] == 55
    value.numpy()[0, 0] = 66
    assert x[0, 0] == 66


def test_value_keeps_its_array_and_arrays_keep_their_value():
    value = ort.OrtValue.ortvalue_from_numpy(X + 1)
    gc.collect()
    array = value.numpy()
    del value
    gc.collect()
    np.testing.assert_array_equal(array, X + 1)


def test_not_contiguous_is_copied():
    value = ort.OrtValue.ortvalue_from_numpy(X.T)
    np.testing.assert_array_equal(value.numpy(), X.T)
    assert value.data_ptr() != X.ctypes.data


def test_sharing_constructor():
    value = ort.OrtValue.ortvalue_from_numpy(X)
    other = ort.OrtValue(value)
    assert isinstance(other, ort.OrtValue) and other.data_ptr() == value.data_ptr()
    del value
    np.testing.assert_array_equal(other.numpy(), X)


def test_array_protocol():
    value = ort.OrtValue.ortvalue_from_numpy(X)
    np.testing.assert_array_equal(np.asarray(value), X)
    assert np.asarray(value).ctypes.data == X.ctypes.data
    assert np.array(value, copy=True).ctypes.data != X.ctypes.data
    assert np.array(value, dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError):
        np.asarray(value, dtype=np.float64, copy=False)


@pytest.mark.parametrize(
    "shape, kind", [([2, 3], np.float32), ((4,), np.dtype("i8")), ([], "float64"), ([0, 2], T.UINT8)]
)
def test_from_shape_and_type(shape, kind):
    value = ort.OrtValue.ortvalue_from_shape_and_type(shape, kind)
    assert value.shape() == list(shape) and value.numpy().shape == tuple(shape)
    value.numpy()[...] = 7
    assert (value.numpy() == 7).all()


def test_from_shape_refuses():
    with pytest.raises(ValueError):
        ort.OrtValue.ortvalue_from_shape_and_type([2, -1], np.float32)
    with pytest.raises(TypeError):
        ort.OrtValue.ortvalue_from_shape_and_type([2], "M8[D]")
    with pytest.raises(RuntimeError, match="Can't allocate memory on the device"):
        ort.OrtValue.ortvalue_from_shape_and_type([2], np.float32, "cuda", 0)
    with pytest.raises(ValueError, match="Unsupported device type: foo"):
        ort.OrtValue.ortvalue_from_numpy(X, "foo")


def test_update_inplace():
    x = X.copy()
    value = ort.OrtValue.ortvalue_from_numpy(x)
    value.update_inplace(np.full((2, 3), 9, np.float32))
    assert (x == 9).all()
    value.update_inplace(ort.OrtValue.ortvalue_from_numpy(X))
    np.testing.assert_array_equal(x, X)
    value.update_inplace(np.asfortranarray(X + 1))
    np.testing.assert_array_equal(x, X + 1)
    with pytest.raises(RuntimeError, match="does not match the size"):
        value.update_inplace(np.ones((3, 3), np.float32))
    with pytest.raises(RuntimeError, match="double"):
        value.update_inplace(np.ones((2, 3)))


def test_sequence_has_no_array():
    value = ort.OrtValue.ortvalue_from_sequence([ort.OrtValue.ortvalue_from_numpy(X)])
    assert value.is_tensor_sequence()
    with pytest.raises(RuntimeError, match="Tensors"):
        value.numpy()
    np.testing.assert_array_equal(value.elements()[0].numpy(), X)


def test_values_are_pickled():
    value = pickle.loads(pickle.dumps(ort.OrtValue.ortvalue_from_numpy(X)))
    assert isinstance(value, ort.OrtValue)
    np.testing.assert_array_equal(value.numpy(), X)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(ort.OrtValue.ortvalue_from_numpy(np.array(["a"])))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "i8", "u2", "?"])
def test_dlpack_to_and_from_numpy(dtype):
    x = np.array([[0, 1, 1], [1, 0, 1]], dtype)
    value = ort.OrtValue.from_dlpack(x)
    assert value.data_ptr() == x.ctypes.data and value.shape() == [2, 3]
    back = np.from_dlpack(value)
    assert back.dtype == x.dtype and back.ctypes.data == x.ctypes.data
    np.testing.assert_array_equal(back, x)
    assert value.__dlpack_device__() == (1, 0)


def test_dlpack_capsules_are_used_once():
    value = ort.OrtValue.ortvalue_from_numpy(X)
    capsule = value.to_dlpack()
    assert ort.OrtValue.from_dlpack(capsule).data_ptr() == X.ctypes.data
    with pytest.raises(TypeError, match="used already"):
        ort.OrtValue.from_dlpack(capsule)
    versioned = value.__dlpack__(max_version=(1, 0))
    assert '"dltensor_versioned"' in repr(versioned)
    assert ort.OrtValue.from_dlpack(versioned).data_ptr() == X.ctypes.data
    del capsule, versioned
    value.to_dlpack()  # never consumed: freed with its capsule
    assert ort.OrtValue.from_dlpack(value.__dlpack__(copy=True)).data_ptr() != X.ctypes.data


def test_dlpack_owners():
    x = X.copy()
    before = sys.getrefcount(x)
    value = ort.OrtValue.from_dlpack(x)
    array = np.from_dlpack(value)
    del value
    gc.collect()
    assert sys.getrefcount(x) > before
    np.testing.assert_array_equal(array, x)
    del array
    gc.collect()
    assert sys.getrefcount(x) == before


def test_dlpack_not_contiguous_is_copied():
    value = ort.OrtValue.from_dlpack(X.T)
    np.testing.assert_array_equal(value.numpy(), X.T)


def test_dlpack_read_only_array():
    x = X.copy()
    x.flags.writeable = False
    np.testing.assert_array_equal(ort.OrtValue.from_dlpack(x).numpy(), x)


def test_dlpack_refuses():
    with pytest.raises((TypeError, AttributeError)):
        ort.OrtValue.from_dlpack(5)
    with pytest.raises(BufferError):
        ort.OrtValue.ortvalue_from_numpy(np.array(["a"])).to_dlpack()

    class OnGpu:
        def __dlpack__(self, **keywords):
            raise BufferError("not on the CPU")

    with pytest.raises(BufferError):
        ort.OrtValue.from_dlpack(OnGpu())


def test_ortvaluevector():
    vector = ort.OrtValueVector()
    vector.push_back(ort.OrtValue.ortvalue_from_numpy(X))
    vector.push_back(X)
    vector.push_back_batch([X], [X.ctypes.data], [np.float32], [[3, 2]], [ort.OrtDevice.make("cpu", 0)])
    assert len(vector) == 3 and vector.element_type_at(2) == T.FLOAT and vector[2].shape() == [3, 2]
    assert [np.from_dlpack(ort.OrtValue.from_dlpack(c)).shape for c in vector.to_dlpacks()] == [(2, 3), (2, 3), (3, 2)]


def test_values_as_inputs_of_runs():
    s = session(relu())
    value = ort.OrtValue.ortvalue_from_numpy(X - 3)
    np.testing.assert_array_equal(s.run(None, {"X": value})[0], np.maximum(X - 3, 0))
    with pytest.raises(errors.InvalidArgument, match="double"):
        s.run(None, {"X": ort.OrtValue.ortvalue_from_numpy(X.astype(float))})


def sparse_or_skip(make, *arguments):
    try:
        return make(*arguments)
    except errors.NotImplemented as error:
        pytest.skip(str(error))


def test_sparse_coo():
    values, indices = np.array([1.5, 2.5], np.float32), np.array([1, 5], np.int64)
    t = sparse_or_skip(ort.SparseTensor.sparse_coo_from_numpy, [3, 3], values, indices, ort.OrtDevice.make("cpu", 0))
    assert t.format() == ort.OrtSparseFormat.ORT_SPARSE_COO and t.dense_shape() == [3, 3]
    assert t.data_type() == "sparse_tensor(float)" and t.device_name() == "cpu"
    np.testing.assert_array_equal(t.values(), values)
    np.testing.assert_array_equal(t.as_coo_view().indices(), indices)
    value = ort.OrtValue.ort_value_from_sparse_tensor(t)
    assert value.is_sparse_tensor() and not value.is_tensor()
    np.testing.assert_array_equal(value.as_sparse_tensor().values(), values)


def test_sparse_csr():
    inner, outer = np.array([1, 0, 2], np.int64), np.array([0, 1, 1, 3], np.int64)
    t = sparse_or_skip(ort.SparseTensor.sparse_csr_from_numpy, [3, 3], np.ones(3), inner, outer)
    assert t.format() == ort.OrtSparseFormat.ORT_SPARSE_CSRC
    np.testing.assert_array_equal(t.as_csrc_view().inner(), inner)
    np.testing.assert_array_equal(t.as_csrc_view().outer(), outer)


def test_identity_keeps_values_apart():
    """An output that equals an input has memory of its own."""
    s = session(identity(T.FLOAT))
    x = np.arange(3, dtype=np.float32)
    (y,) = s.run(None, {"X": x})
    y += 1
    np.testing.assert_array_equal(x, [0, 1, 2])
