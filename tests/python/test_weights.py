"""Packing of weights: what is packed can be read back with the scales and zero points."""

import numpy as np
import pytest

from trunnion.capi import onnxruntime_pybind11_state as C

RANDOM = np.random.default_rng(5)


def unpack(packed, bits):
    return np.stack([packed >> (bits * i) & ((1 << bits) - 1) for i in range(8 // bits)], -1).reshape(
        *packed.shape[:-1], -1
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("rows, columns, block", [(64, 5, 16), (50, 3, 32), (256, 33, 128)])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_matmul_nbits(bits, rows, columns, block, symmetric, dtype):
    source = RANDOM.standard_normal((rows, columns)).astype(dtype)
    blocks, per_byte = -(-rows // block), 8 // bits
    packed = np.zeros((columns, blocks, block // per_byte), np.uint8)
    scale = np.zeros(columns * blocks, dtype)
    zeros = np.full(columns * -(-blocks // per_byte), 0xEE, np.uint8)
    getattr(C, f"quantize_matmul_{bits}bits")(packed, source, scale, zeros, block, columns, rows, symmetric)
    codes = unpack(packed, bits).reshape(columns, blocks, block).astype(np.float32)
    zero = np.full((columns, blocks), 1 << (bits - 1), np.float32)
    if symmetric:
        assert (zeros == 0xEE).all()
    else:
        zero = unpack(zeros.reshape(columns, -1), bits)[:, :blocks].astype(np.float32)
    step = scale.reshape(columns, blocks, 1).astype(np.float32)
    read = ((codes - zero[:, :, None]) * step).reshape(columns, -1)[:, :rows].T
    limit = np.repeat(np.abs(step[:, :, 0]), block, 1)[:, :rows].T
    # Half a step; a symmetric block reaches one step less on one side; rounding of the zero point may cost another half.
    assert (np.abs(read - source.astype(np.float32)) <= limit * 1.03 + 1e-6).all()


def test_matmul_4bits_by_hand():
    source = np.array([[0], [15], [7.5], [3]], np.float32)
    packed, scale, zeros = np.zeros((1, 1, 8), np.uint8), np.zeros(1, np.float32), np.zeros(1, np.uint8)
    C.quantize_matmul_4bits(packed, source, scale, zeros, 16, 1, 4, False)
    assert scale[0] == 1 and zeros[0] == 0 and packed[0, 0, :2].tolist() == [0xF0, 0x38]  # 7.5 rounds away from 0


@pytest.mark.parametrize("symmetric", [True, False])
def test_qdq(symmetric):
    source = RANDOM.standard_normal((64, 6)).astype(np.float32)
    packed, scale, zeros = np.zeros(192, np.uint8), np.zeros((4, 6), np.float32), np.zeros(12, np.uint8)
    signed = C.quantize_qdq_matmul_4bits(packed, source, scale, zeros, 16, 6, 64, symmetric)
    assert signed is symmetric
    codes = unpack(packed, 4).reshape(64, 6).astype(np.int32)
    zero = np.zeros((4, 6)) if symmetric else unpack(zeros, 4).reshape(4, 6).astype(float)
    if symmetric:
        codes = np.where(codes > 7, codes - 16, codes)
    read = (codes - np.repeat(zero, 16, 0)) * np.repeat(scale, 16, 0)
    assert (np.abs(read - source) <= np.repeat(np.abs(scale), 16, 0) * 1.03).all()


@pytest.mark.parametrize("kind", [0, 1])
def test_bnb4(kind):
    tables = (
        [0, 0.0052083333, 2 / 3, 1, 1 / 3, 0.5, 1 / 6, 0.25],
        [-1, -0.6961928, -0.52507305, -0.3949175, -0.28444138, -0.18477343, -0.09105004, 0,
         0.0795803, 0.1609302, 0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1],
    )  # fmt: skip
    table = np.array(tables[kind], np.float32)
    table = np.concatenate([table, -table]) if kind == 0 else table
    source = RANDOM.standard_normal((7, 9)).astype(np.float32)
    packed, largest = np.zeros(32, np.uint8), np.zeros(4, np.float32)
    C.quantize_matmul_bnb4(packed, source, largest, 16, kind, 9, 7)
    codes = np.stack([packed >> 4, packed & 15], -1).reshape(-1)[:63]
    scaled = source.reshape(-1) / np.repeat(largest, 16)[:63]
    best = np.abs(scaled[:, None] - table[None]).min(1)
    np.testing.assert_allclose(np.abs(table[codes] - scaled), best, atol=1e-6)


def test_arrays_that_are_too_small():
    with pytest.raises(ValueError, match="elements"):
        C.quantize_matmul_4bits(
            np.zeros(3, np.uint8),
            np.ones((32, 1), np.float32),
            np.zeros(1, np.float32),
            np.zeros(1, np.uint8),
            32,
            1,
            32,
            True,
        )
