"""SparseTensor: a tensor that holds only its non-zero values."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from . import _native
from ._devices import OrtDevice
from ._enums import OrtSparseFormat

# OrtSparseIndicesFormat of the C ABI.
_COO, _CSR_INNER, _CSR_OUTER, _BLOCK = range(4)


class SparseCooView:
    """The indices of a tensor in COO form."""

    def __init__(self, tensor: SparseTensor) -> None:
        self._tensor = tensor

    def indices(self) -> np.ndarray:
        """int64: flat ones (n), or rows and columns (n, 2)."""
        return _native.sparse_indices(self._tensor, _COO)


class SparseCsrView:
    """The indices of a matrix in CSR form."""

    def __init__(self, tensor: SparseTensor) -> None:
        self._tensor = tensor

    def inner(self) -> np.ndarray:
        """int64 (n): the column of each value."""
        return _native.sparse_indices(self._tensor, _CSR_INNER)

    def outer(self) -> np.ndarray:
        """int64 (rows + 1): where each row begins."""
        return _native.sparse_indices(self._tensor, _CSR_OUTER)


class SparseBlockSparseView:
    """The indices of a tensor in block-sparse form."""

    def __init__(self, tensor: SparseTensor) -> None:
        self._tensor = tensor

    def indices(self) -> np.ndarray:
        """int32: the position of each block."""
        return _native.sparse_indices(self._tensor, _BLOCK)


class SparseTensor(_native.OrtValue):
    """A sparse tensor of numbers; the classmethods copy the arrays that they are given."""

    def __new__(cls, sparse_tensor: Any) -> SparseTensor:
        return _native.as_sparse(sparse_tensor)

    def __init__(self, sparse_tensor: Any) -> None:
        pass

    @classmethod
    def sparse_coo_from_numpy(
        cls,
        dense_shape: Sequence[int],
        values: np.ndarray,
        coo_indices: np.ndarray,
        ort_device: OrtDevice | None = None,
    ) -> SparseTensor:
        """From COO: `coo_indices` are int64, flat (n) or rows and columns (n, 2)."""
        _require_cpu(ort_device)
        return _native.sparse_from_coo(_dims(dense_shape), values, coo_indices)

    @classmethod
    def sparse_csr_from_numpy(
        cls,
        dense_shape: Sequence[int],
        values: np.ndarray,
        inner_indices: np.ndarray,
        outer_indices: np.ndarray,
        ort_device: OrtDevice | None = None,
    ) -> SparseTensor:
        """From CSR: int64 columns of the values, and where each row begins (rows + 1)."""
        _require_cpu(ort_device)
        return _native.sparse_from_csr(_dims(dense_shape), values, inner_indices, outer_indices)

    @classmethod
    def blocksparse_from_numpy(
        cls, dense_shape: Sequence[int], values: np.ndarray, indices: np.ndarray, ort_device: OrtDevice | None = None
    ) -> SparseTensor:
        """From blocks: values (n, block...) and their int32 positions."""
        _require_cpu(ort_device)
        return _native.sparse_from_blocks(_dims(dense_shape), values, indices)

    def values(self) -> np.ndarray:
        """The values, read-only, in place."""
        return _native.sparse_values(self)

    def as_coo_view(self) -> SparseCooView:
        """The indices; the tensor must be in COO form."""
        return SparseCooView(self)

    def as_csrc_view(self) -> SparseCsrView:
        """The indices; the tensor must be in CSR form."""
        return SparseCsrView(self)

    def as_blocksparse_view(self) -> SparseBlockSparseView:
        """The indices; the tensor must be in block-sparse form."""
        return SparseBlockSparseView(self)

    get_coo_data, get_csrc_data, get_blocksparse_data = as_coo_view, as_csrc_view, as_blocksparse_view

    def to_cuda(self, ort_device: OrtDevice) -> None:
        """Copies to a GPU: RuntimeError, as no provider here has one."""
        OrtDevice(ort_device)._require_cpu()

    def format(self) -> OrtSparseFormat:
        """The form in which the tensor is held."""
        return OrtSparseFormat(_native.sparse_format(self))

    def dense_shape(self) -> list[int]:
        """The shape of the whole tensor."""
        return self.shape()

    def _get_c_tensor(self) -> SparseTensor:
        return self


def _dims(shape: Sequence[int]) -> list[int]:
    return [int(extent) for extent in shape]


def _require_cpu(device: OrtDevice | None) -> None:
    if device is not None:
        OrtDevice(device)._require_cpu()
