"""Packing of weights into 2, 4 and 8 bits, as tools that quantize models expect of the native module.

Every function writes into arrays that the caller made. A matrix (K, N) is cut into blocks of `block_size` along K; a block
has a scale and, unless it is symmetric, a zero point: value = (code - zero_point) * scale.
"""

from __future__ import annotations

import numpy as np

_FP4 = np.array([0.0, 0.0052083333, 0.6666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25], np.float32)
_NF4 = np.array(
    [-1.0, -0.69619280, -0.52507305, -0.39491749, -0.28444138, -0.18477343, -0.09105004, 0.0,
     0.07958030, 0.16093020, 0.24611230, 0.33791524, 0.44070983, 0.56261700, 0.72295684, 1.0], np.float32)  # fmt: skip


def _round(x: np.ndarray) -> np.ndarray:
    """Half away from zero."""
    return np.trunc(x + np.copysign(np.float32(0.5), x))


def _quantize(source: np.ndarray, block: int, bits: int, symmetric: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes (blocks, block, N), scales (blocks, N), zero points (blocks, N) of a matrix (K, N). Rows beyond K are 0."""
    rows, columns = source.shape
    blocks = -(-rows // block)
    top, middle = (1 << bits) - 1, 1 << (bits - 1)
    values = np.zeros((blocks * block, columns), np.float32)
    values[:rows] = source
    values = values.reshape(blocks, block, columns)
    low, high = values.min(1), values.max(1)
    if symmetric:
        scale = np.where(np.abs(high) > np.abs(low), high, low) / np.float32(-middle)
        zero = np.full_like(scale, middle)
    else:
        low, high = np.minimum(low, 0), np.maximum(high, 0)
        scale = (high - low) / np.float32(top)
        zero = np.clip(_round(np.divide(-low, scale, out=np.zeros_like(scale), where=scale != 0)), 0, top)
    stored = scale.astype(source.dtype).astype(np.float32)  # what the reader of a float16 scale will multiply by
    inverse = np.divide(np.float32(1), stored, out=np.zeros_like(stored), where=stored != 0)
    codes = np.clip(_round(values * inverse[:, None] + zero[:, None]), 0, top)
    return codes.astype(np.uint8), scale, zero.astype(np.uint8)


def _pack(codes: np.ndarray, bits: int) -> np.ndarray:
    """Codes along the last axis, several to a byte; the first takes the low bits, missing ones are 0."""
    per_byte = 8 // bits
    missing = -codes.shape[-1] % per_byte
    if missing:
        codes = np.concatenate([codes, np.zeros((*codes.shape[:-1], missing), np.uint8)], -1)
    parts = codes.reshape(*codes.shape[:-1], -1, per_byte)
    packed = np.zeros(parts.shape[:-1], np.uint8)
    for i in range(per_byte):
        packed |= parts[..., i] << np.uint8(i * bits)
    return packed


def _fill(target: np.ndarray, values: np.ndarray) -> None:
    if target.size < values.size:
        raise ValueError(f"the array to write has {target.size} elements, {values.size} are needed")
    if not target.flags.c_contiguous:
        raise ValueError("the array to write must be C-contiguous")
    target.reshape(-1)[: values.size] = values.reshape(-1)


def _matmul_nbits(bits, dst, src, scale, zero_points, block_size, N, K, is_symmetric):
    codes, scales, zeros = _quantize(np.asarray(src).reshape(K, N), block_size, bits, is_symmetric)
    _fill(dst, _pack(codes.transpose(2, 0, 1), bits))
    _fill(scale, scales.T)
    if not is_symmetric:
        _fill(zero_points, _pack(zeros.T, bits))


def quantize_matmul_2bits(dst, src, scale, zero_points, block_size, N, K, is_symmetric):
    """Packs src (K, N) for MatMulNBits: dst uint8 (N, blocks, block_size / 4), scale (N * blocks), zero_points uint8
    (N * ceil(blocks / 4)), which is left alone when symmetric."""
    _matmul_nbits(2, dst, src, scale, zero_points, block_size, N, K, is_symmetric)


def quantize_matmul_4bits(dst, src, scale, zero_points, block_size, N, K, is_symmetric):
    """Packs src (K, N) for MatMulNBits: dst uint8 (N, blocks, block_size / 2), scale (N * blocks), zero_points uint8
    (N * ceil(blocks / 2)), which is left alone when symmetric."""
    _matmul_nbits(4, dst, src, scale, zero_points, block_size, N, K, is_symmetric)


def quantize_matmul_8bits(dst, src, scale, zero_points, block_size, N, K, is_symmetric):
    """Packs src (K, N) for MatMulNBits: dst uint8 (N, blocks, block_size), scale (N * blocks), zero_points uint8
    (N * blocks), which is left alone when symmetric."""
    _matmul_nbits(8, dst, src, scale, zero_points, block_size, N, K, is_symmetric)


def _qdq_matmul(bits, dst, src, scale, zero_points, block_size, N, K, is_symmetric):
    codes, scales, zeros = _quantize(np.asarray(src).reshape(K, N), block_size, bits, is_symmetric)
    codes = codes.reshape(-1, N)[:K]
    if is_symmetric:
        codes = codes ^ np.uint8(1 << (bits - 1))  # signed codes, zero point 0
    else:
        _fill(zero_points, _pack(zeros.reshape(-1), bits))
    _fill(dst, _pack(codes.reshape(-1), bits))
    _fill(scale, scales)
    return bool(is_symmetric)


def quantize_qdq_matmul_2bits(dst, src, scale, zero_points, block_size, N, K, is_symmetric):
    """quantize_qdq_matmul_4bits in 2 bits."""
    return _qdq_matmul(2, dst, src, scale, zero_points, block_size, N, K, is_symmetric)


def quantize_qdq_matmul_4bits(dst, src, scale, zero_points, block_size, N, K, is_symmetric):
    """Packs src (K, N) in its own order for DequantizeLinear: dst uint8 (K * N / 2), scale (blocks, N), zero_points uint8
    (blocks * N / 2). Returns whether the codes are signed: they are when symmetric, and zero_points is then left alone.
    """
    return _qdq_matmul(4, dst, src, scale, zero_points, block_size, N, K, is_symmetric)


def quantize_matmul_bnb4(dst, src, absmax, block_size, quant_type, N, K):
    """Packs src, flat, for MatMulBnb4: dst uint8 (ceil(N * K / 2)), the first code of a pair in the high bits, absmax
    (blocks). quant_type 0 is FP4, 1 is NF4."""
    flat = np.asarray(src, np.float32).reshape(-1)
    blocks = -(-flat.size // block_size)
    values = np.zeros(blocks * block_size, np.float32)
    values[: flat.size] = flat
    values = values.reshape(blocks, block_size)
    largest = np.abs(values).max(1)
    inverse = np.divide(np.float32(1), largest, out=np.zeros_like(largest), where=largest != 0)
    scaled = (values * inverse[:, None]).reshape(-1)[: flat.size]
    if quant_type == 0:
        order = np.argsort(_FP4)
        steps = (_FP4[order][1:] + _FP4[order][:-1]) / 2
        codes = order[np.searchsorted(steps, np.abs(scaled))].astype(np.uint8) | np.where(scaled < 0, 8, 0).astype(
            np.uint8
        )
    else:
        codes = np.searchsorted((_NF4[1:] + _NF4[:-1]) / 2, scaled).astype(np.uint8)
    if codes.size % 2:
        codes = np.append(codes, np.uint8(0))
    _fill(dst, codes[0::2] << np.uint8(4) | codes[1::2])
    _fill(absmax, largest)
