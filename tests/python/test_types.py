"""Every element type in and out, and what the model says about its inputs."""

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from small_models import OWN, T, h, identity, model, session, session_or_skip, tensor

import trunnion as ort
from trunnion import errors

NUMPY = [
    (T.FLOAT, "float", np.float32), (T.DOUBLE, "double", np.float64), (T.FLOAT16, "float16", np.float16),
    (T.INT8, "int8", np.int8), (T.INT16, "int16", np.int16), (T.INT32, "int32", np.int32), (T.INT64, "int64", np.int64),
    (T.UINT8, "uint8", np.uint8), (T.UINT16, "uint16", np.uint16), (T.UINT32, "uint32", np.uint32),
    (T.UINT64, "uint64", np.uint64), (T.BOOL, "bool", np.bool_),
]  # fmt: skip
ML = [
    (T.BFLOAT16, "bfloat16", ml_dtypes.bfloat16), (T.FLOAT8E4M3FN, "float8e4m3fn", ml_dtypes.float8_e4m3fn),
    (T.FLOAT8E4M3FNUZ, "float8e4m3fnuz", ml_dtypes.float8_e4m3fnuz), (T.FLOAT8E5M2, "float8e5m2", ml_dtypes.float8_e5m2),
    (T.FLOAT8E5M2FNUZ, "float8e5m2fnuz", ml_dtypes.float8_e5m2fnuz), (T.INT4, "int4", ml_dtypes.int4),
    (T.UINT4, "uint4", ml_dtypes.uint4), (T.FLOAT4E2M1, "float4e2m1", ml_dtypes.float4_e2m1fn),
    (T.INT2, "int2", ml_dtypes.int2), (T.UINT2, "uint2", ml_dtypes.uint2),
    (T.FLOAT8E8M0, "float8e8m0", ml_dtypes.float8_e8m0fnu),
]  # fmt: skip


def some(dtype, count=7):
    if np.dtype(dtype) in (np.dtype(ml_dtypes.uint2), np.dtype(ml_dtypes.uint4)) or np.dtype(dtype).kind in "ub":
        return (np.arange(count) % 4).astype(dtype)
    if np.dtype(dtype) == np.dtype(ml_dtypes.float8_e8m0fnu):
        return np.exp2(np.arange(count) - 3.0).astype(dtype)
    return (np.arange(count) % 4 - 2).astype(dtype)


def opset_of(kind):
    return {T.INT2: 26, T.UINT2: 26, T.FLOAT8E8M0: 25, T.FLOAT4E2M1: 25}.get(kind, 21)


@pytest.mark.parametrize("kind, name, dtype", NUMPY, ids=[row[1] for row in NUMPY])
def test_numpy_types(kind, name, dtype):
    s = session_or_skip(identity(kind))
    assert s.get_inputs()[0].type == f"tensor({name})" == s.get_outputs()[0].type
    x = some(dtype)
    (y,) = s.run(None, {"X": x})
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, x)
    (z,) = s.run(None, {"X": x.tolist()})  # a list takes the input's type
    assert z.dtype == x.dtype
    np.testing.assert_array_equal(z, x)


@pytest.mark.parametrize("kind, name, dtype", ML, ids=[row[1] for row in ML])
def test_ml_dtypes(kind, name, dtype):
    s = session_or_skip(identity(kind, opset=opset_of(kind)))
    assert s.get_inputs()[0].type == f"tensor({name})"
    x = some(dtype)
    (y,) = s.run(None, {"X": x})
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y.astype(np.float32), x.astype(np.float32))


@pytest.mark.parametrize("kind, name, dtype", NUMPY + ML, ids=[row[1] for row in NUMPY + ML])
def test_values_of_every_type(kind, name, dtype):
    x = some(dtype)
    value = ort.OrtValue.ortvalue_from_numpy(x)
    bits = {"int4": 4, "uint4": 4, "float4e2m1": 4, "int2": 2, "uint2": 2}.get(name, 8 * x.itemsize)
    assert value.data_type() == f"tensor({name})" and value.element_type() == kind
    assert value.tensor_size_in_bytes() == (x.size * bits + 7) // 8
    y = value.numpy()
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y.astype(np.float32), x.astype(np.float32))
    if bits >= 8:
        assert value.data_ptr() == x.ctypes.data and np.shares_memory(y, x)
    fresh = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], kind)
    assert fresh.data_type() == value.data_type() and fresh.numpy().dtype == x.dtype


def test_bytes_by_onnx_type():
    half = np.array([0x3F80, 0x4000], np.uint16)  # 1 and 2
    value = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(half, T.BFLOAT16)
    assert value.data_type() == "tensor(bfloat16)" and value.data_ptr() == half.ctypes.data
    assert value.numpy().tolist() == [1, 2]
    eighth = np.array([0x38], np.uint8)
    assert ort.OrtValue.ortvalue_from_numpy_with_onnx_type(eighth, T.FLOAT8E4M3FN).numpy().astype(float) == 1
    packed = np.array([0x21, 0x03, 0], np.uint8)  # its leading bytes are codes 1, 2, 3
    assert ort.OrtValue.ortvalue_from_numpy_with_onnx_type(packed, T.UINT4).numpy().astype(int).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="bytes"):
        ort.OrtValue.ortvalue_from_numpy_with_onnx_type(eighth, T.FLOAT)
    with pytest.raises(ValueError, match="unknown ONNX element type 99"):
        ort.OrtValue.ortvalue_from_numpy_with_onnx_type(eighth, 99)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 8, 17])
@pytest.mark.parametrize(
    "dtype", [ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2], ids=lambda d: d.__name__
)
def test_packing_and_unpacking(dtype, count):
    low, bits = (
        (-8, 4)
        if dtype is ml_dtypes.int4
        else (0, 4) if dtype is ml_dtypes.uint4 else (-2, 2) if dtype is ml_dtypes.int2 else (0, 2)
    )
    x = (np.arange(count) % (1 << bits) + low).astype(dtype)
    value = ort.OrtValue.ortvalue_from_numpy(x)
    np.testing.assert_array_equal(value.numpy().astype(int), x.astype(int))


STRINGS = ["a", "bc", "", "ü€", "x\0y", "long " * 20]


@pytest.mark.parametrize(
    "given",
    [np.array(STRINGS, object), STRINGS, np.array([text.encode() for text in STRINGS], object)],
    ids=["objects", "list", "bytes objects"],
)
def test_strings(given):
    s = session_or_skip(identity(T.STRING))
    (y,) = s.run(None, {"X": given})
    assert y.dtype == object and y.tolist() == STRINGS


@pytest.mark.parametrize("dtype", ["U", "S", "T"])
def test_other_string_dtypes(dtype):
    s = session_or_skip(identity(T.STRING, ["n", "m"]))
    x = np.array([["a", "bcd"], ["", "ef"]], dtype)
    (y,) = s.run(None, {"X": x})
    assert y.tolist() == [["a", "bcd"], ["", "ef"]]
    (y,) = s.run(None, {"X": x.T})
    assert y.tolist() == [["a", ""], ["bcd", "ef"]]


def test_strings_that_are_no_text():
    s = session_or_skip(identity(T.STRING))
    (y,) = s.run(None, {"X": np.array([b"\xff\xfe", 3, None, 1.5], object)})
    assert y[1:].tolist() == ["3", "None", "1.5"]
    assert y[0].encode("utf-8", "surrogateescape") == b"\xff\xfe"
    assert s.run(None, {"X": y})[0].tolist() == y.tolist()
    assert s.run(None, {"X": np.array([], object)})[0].shape == (0,)


def test_string_values():
    value = ort.OrtValue.ortvalue_from_numpy(np.array([["a", "b"]]))
    assert value.data_type() == "tensor(string)" and value.shape() == [1, 2] and value.numpy().tolist() == [["a", "b"]]


def test_shapes_that_models_state():
    ports = [
        tensor("X", T.FLOAT, None), tensor("S", T.FLOAT, []), tensor("U", T.FLOAT, [None, "b", 2]),
    ]  # fmt: skip
    outputs = [tensor("A", T.FLOAT, None), tensor("B", T.FLOAT, [])]
    s = session(model([h.make_node("Identity", ["X"], ["A"]), h.make_node("Identity", ["S"], ["B"])], ports, outputs))
    assert [(port.name, port.shape) for port in s.get_inputs()] == [("X", []), ("S", []), ("U", [None, "b", 2])]
    assert repr(s.get_inputs()[2]) == "NodeArg(name='U', type='tensor(float)', shape=[None, 'b', 2])"
    assert [port.name for port in s.get_outputs()] == ["A", "B"]


def test_without_ml_dtypes(tmp_path):
    """The package is needed only where numpy has no dtype."""
    (tmp_path / "ml_dtypes.py").write_text("raise ImportError('hidden')")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import numpy as np, trunnion as ort\n"
        "print(ort.OrtValue.ortvalue_from_numpy(np.ones(2, 'f4')).numpy())\n"
        "v = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(np.ones(2, np.uint16), 16)\n"
        "print(v.data_type())\n"
        "v.numpy()\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert "[1. 1.]" in done.stdout and "tensor(bfloat16)" in done.stdout
    assert "needs the package ml_dtypes" in done.stderr


@pytest.mark.own
def test_names_of_types_are_those_of_the_engine():
    with pytest.raises(errors.InvalidArgument, match=r"tensor\(bfloat16\)"):
        session(identity(T.FLOAT)).run(None, {"X": np.ones(2, ml_dtypes.bfloat16)})


def test_complex():
    if not OWN:
        pytest.skip("ONNX Runtime has no complex tensors")
    s = session_or_skip(identity(T.COMPLEX64))
    x = np.array([1 + 2j, -1j], np.complex64)
    (y,) = s.run(None, {"X": x})
    assert y.dtype == np.complex64 and y.tolist() == x.tolist()
