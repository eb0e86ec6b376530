"""The classes of ONNX Runtime's Python layer."""

from . import onnxruntime_pybind11_state as C  # noqa: F401
from .._binding import IOBinding  # noqa: F401
from .._devices import OrtDevice  # noqa: F401
from .._enums import OrtDeviceVendorId  # noqa: F401
from .._environment import copy_tensors  # noqa: F401
from .._session import InferenceSession, Session  # noqa: F401
from .._sparse import SparseTensor  # noqa: F401
from .._value import OrtValue  # noqa: F401


def get_ort_device_type(device_type: str, device_index: int = 0) -> int:
    """The number of a device type by name."""
    return OrtDevice.make(device_type, device_index).device_type()


def check_and_normalize_provider_args(providers, provider_options, available_provider_names=None):
    """The providers that are available, and a dict of options for each."""
    from .._providers import normalize

    chosen = normalize(providers, provider_options)
    return [name for name, _ in chosen], [options for _, options in chosen]
