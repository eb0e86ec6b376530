"""OrtValue: a tensor, sequence, map or optional that belongs to the engine."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Sequence

import numpy as np

from . import _native
from ._devices import OrtDevice, OrtMemoryInfo


def _device(device_type: str | OrtDevice, device_id: int, vendor_id: int) -> OrtDevice:
    device = device_type if isinstance(device_type, OrtDevice) else OrtDevice.make(device_type, device_id, vendor_id)
    device._require_cpu()
    return device


class OrtValue(_native.OrtValue):
    """A value of the engine: what run_with_ort_values and IOBinding take and give.

    Made by the classmethods ortvalue_from_*; OrtValue(other) shares another's value. Arrays and DLPack tensors over its
    memory keep it alive.
    """

    def __new__(cls, ortvalue: OrtValue, numpy_obj: Any = None, session: Any = None) -> OrtValue:
        return _native.share_value(ortvalue)

    def __init__(self, ortvalue: OrtValue, numpy_obj: Any = None, session: Any = None) -> None:
        pass

    @classmethod
    def ortvalue_from_numpy(
        cls, numpy_obj: np.ndarray, /, device_type: str | OrtDevice = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """A tensor over the array's memory (C-contiguous arrays are shared, others copied). Objects with __dlpack__ and
        nested lists are taken as well; strings are copied."""
        _device(device_type, device_id, vendor_id)
        return _native.value_from_array(numpy_obj)

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: np.ndarray, /, onnx_element_type: int) -> OrtValue:
        """A tensor of an ONNX type (TensorProto.DataType) over the array's bytes: uint16 for bfloat16, uint8 for the
        8-bit floats. For 4- and 2-bit types, arrays of ml_dtypes are packed; of a uint8 array the leading bytes are
        taken as packed already."""
        return _native.value_from_array_as(data, int(onnx_element_type))

    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Sequence[int],
        element_type: Any,
        device_type: str | OrtDevice | OrtMemoryInfo = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
        memory_info: OrtMemoryInfo | None = None,
    ) -> OrtValue:
        """A new tensor with undefined contents; `element_type` is a numpy dtype or an ONNX code."""
        if memory_info is None and not isinstance(device_type, OrtMemoryInfo):
            _device(device_type, device_id, vendor_id)
        return _native.value_from_shape([int(extent) for extent in shape], element_type)

    ortvalue_from_shape_and_onnx_type = ortvalue_from_shape_and_type
    ortvalue_from_shape_and_type_for_memory_info = ortvalue_from_shape_and_type
    ortvalue_from_shape_and_onnx_type_for_memory_info = ortvalue_from_shape_and_type

    @classmethod
    def ortvalue_from_sequence(cls, values: Iterable[OrtValue]) -> OrtValue:
        """A sequence of these values; their elements must be of one type."""
        return _native.value_from_list(list(values))

    @classmethod
    def ort_value_from_sparse_tensor(cls, sparse_tensor: Any) -> OrtValue:
        """The value of a SparseTensor."""
        return _native.share_value(sparse_tensor)

    @classmethod
    def from_dlpack(cls, data: Any, /) -> OrtValue:
        """A tensor over the memory of an object with __dlpack__ or of a DLPack capsule; copied only when it is not
        contiguous. BufferError when it is not on the CPU."""
        value = _native.value_from_dlpack(data)
        if value is None:
            value = _native.value_from_array(np.ascontiguousarray(np.from_dlpack(data)))
        return value

    def as_sparse_tensor(self) -> Any:
        """The same value as a SparseTensor."""
        return _native.as_sparse(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if dtype is not None and array.dtype != np.dtype(dtype):
            if copy is False:
                raise ValueError("another dtype needs a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError("the value is in CPU memory and stays there")
        source = _native.value_from_array(self.numpy().copy()) if copy else self
        return source._to_dlpack(max_version is not None and max_version[0] >= 1)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def to_dlpack(self) -> Any:
        """A DLPack capsule over the value's memory."""
        return self._to_dlpack(False)

    def _get_c_value(self) -> OrtValue:
        return self

    @property
    def _ortvalue(self) -> OrtValue:
        return self

    def __reduce__(self) -> tuple:
        if not self.is_tensor() or self.data_type() == "tensor(string)":
            raise TypeError(f"an OrtValue of type {self.data_type()} cannot be pickled; tensors of numbers can")
        return _from_pickle, (self.numpy(),)


def _from_pickle(array: np.ndarray) -> OrtValue:
    return _native.value_from_array(array)


class OrtValueVector(list):
    """A list of OrtValues with the method names of ONNX Runtime's."""

    def push_back(self, value: Any, is_bool_tensor: bool = False) -> None:
        """Appends an OrtValue or a DLPack tensor."""
        self.append(value if isinstance(value, _native.OrtValue) else OrtValue.from_dlpack(value))

    def push_back_batch(
        self, tensors: Sequence[Any], data_ptrs: Sequence[int], element_types: Sequence[Any],
        shapes: Sequence[Sequence[int]], devices: Sequence[OrtDevice],
    ) -> None:  # fmt: skip
        """Appends values over foreign memory; the tensors that own it stay alive with this list."""
        for tensor, pointer, element_type, shape, device in zip(tensors, data_ptrs, element_types, shapes, devices):
            OrtDevice(device)._require_cpu()
            value = _native.value_from_memory(pointer, list(shape), element_type)
            self._tensors = [*getattr(self, "_tensors", ()), tensor]
            self.append(value)

    def reserve(self, count: int) -> None:
        """Has no effect."""

    def shrink_to_fit(self) -> None:
        """Has no effect."""

    def dlpack_at(self, index: int) -> Any:
        """A DLPack capsule of one value."""
        return self[index].to_dlpack()

    def element_type_at(self, index: int) -> int:
        """The ONNX element type of one value."""
        return self[index].element_type()

    def to_dlpacks(self, to_tensor: Callable | None = None) -> list:
        """DLPack capsules of all values, or what to_tensor makes of them."""
        capsules = [value.to_dlpack() for value in self]
        return capsules if to_tensor is None else [to_tensor(capsule) for capsule in capsules]
