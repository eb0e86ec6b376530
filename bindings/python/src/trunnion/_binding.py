"""IOBinding: inputs and outputs bound to memory once, for many runs."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from . import _native
from ._devices import OrtDevice
from ._value import OrtValue, OrtValueVector


def _value_at(device: OrtDevice, element_type: Any, shape: Sequence[int], buffer_ptr: int) -> OrtValue:
    device._require_cpu()
    return _native.value_from_memory(int(buffer_ptr), [int(extent) for extent in shape], element_type)


class IOBinding(_native.Binding):
    """What a session's runs read and write. Made by InferenceSession.io_binding()."""

    def __init__(self, session: Any) -> None:
        super().__init__(session)
        self._session = session

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Binds an input to an array, which is read in place by every run; or to anything else that run() takes."""
        if isinstance(arr_on_cpu, _native.OrtValue):
            self._bind_input_value(name, arr_on_cpu)
        else:
            self._bind_input(name, arr_on_cpu)

    def bind_input(
        self,
        name: str,
        device_type: str | OrtDevice,
        device_id: int,
        element_type: Any,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Binds an input to memory at an address; the caller keeps it alive. `element_type` is a numpy dtype or an ONNX
        code."""
        device = OrtDevice.make(device_type, device_id)
        self._bind_input_value(name, _value_at(device, element_type, shape, buffer_ptr))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Binds an input to an OrtValue."""
        self._bind_input_value(name, ortvalue)

    def bind_output(
        self,
        name: str,
        device_type: str | OrtDevice = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Binds an output to a device, where each run allocates it; to memory at an address, which must have room for
        `shape`; or, with a shape and no address, to a new tensor that all runs write."""
        device = OrtDevice.make(device_type, device_id)
        if shape is None:
            device._require_cpu()
            self._bind_output_to_device(name, 0)
        elif element_type is None:
            raise ValueError("`element_type` and `shape` are to be provided if pre-allocated memory is provided")
        elif buffer_ptr is None:
            self._bind_output_value(name, OrtValue.ortvalue_from_shape_and_type(shape, element_type, device))
        else:
            self._bind_output_value(name, _value_at(device, element_type, shape, buffer_ptr))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Binds an output to an OrtValue, which every run writes."""
        self._bind_output_value(name, ortvalue)

    def get_outputs(self) -> list[OrtValue]:
        """The outputs of the last run, in the order in which they were bound."""
        return self._get_outputs()

    def get_outputs_as_ortvaluevector(self) -> OrtValueVector:
        """get_outputs() as an OrtValueVector."""
        return OrtValueVector(self._get_outputs())

    def copy_outputs_to_cpu(self) -> list:
        """The outputs of the last run as arrays of their own, which later runs leave alone; maps are dicts and sequences
        lists, as run() gives them."""
        return [_copied(value) for value in self._get_outputs()]

    @property
    def _iobinding(self) -> SessionIOBinding:
        return SessionIOBinding(self)


def _copied(value: OrtValue) -> Any:
    if not value.has_value():
        return None
    if value.is_tensor():
        return value.numpy().copy()
    if value.data_type().startswith("map("):
        return value._as_dict()
    return [_copied(element) for element in value.elements()]


class SessionIOBinding:
    """IOBinding with the argument order of ONNX Runtime's native class."""

    def __init__(self, session_or_binding: Any) -> None:
        is_binding = isinstance(session_or_binding, IOBinding)
        self._binding = session_or_binding if is_binding else IOBinding(session_or_binding)

    def bind_input(self, name: str, *where: Any) -> None:
        """bind_input(name, array) or bind_input(name, device, element_type, shape, address)."""
        if len(where) == 1:
            self._binding.bind_cpu_input(name, where[0])
        else:
            self._binding._bind_input_value(name, _value_at(OrtDevice(where[0]), *where[1:]))

    def bind_output(self, name: str, device: OrtDevice, *where: Any) -> None:
        """bind_output(name, device) or bind_output(name, device, element_type, shape, address)."""
        self._binding.bind_output(name, OrtDevice(device), 0, *where)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._binding, name)
