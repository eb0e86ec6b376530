"""trunnion: an inference engine for ONNX models, with the interface of onnxruntime.

    import trunnion as ort
    session = ort.InferenceSession("model.onnx")
    outputs = session.run(None, {session.get_inputs()[0].name: array})

Errors are in trunnion.errors. `python -m trunnion.as_onnxruntime PROGRAM` runs a program that imports onnxruntime.
"""

__version__ = "0.1.0"

from . import _library

_library.load()

from . import capi, errors  # noqa: E402
from ._binding import IOBinding, SessionIOBinding  # noqa: E402
from ._devices import (  # noqa: E402
    OrtArenaCfg,
    OrtDevice,
    OrtEpAssignedNode,
    OrtEpAssignedSubgraph,
    OrtEpDevice,
    OrtHardwareDevice,
    OrtMemoryInfo,
    OrtSyncStream,
    create_and_register_allocator,
    create_and_register_allocator_v2,
    get_ep_devices,
    get_hardware_devices,
)
from ._enums import (  # noqa: E402
    ArenaExtendStrategy,
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    OrtAllocatorType,
    OrtDeviceMemoryType,
    OrtDeviceVendorId,
    OrtExecutionProviderDevicePolicy,
    OrtHardwareDeviceType,
    OrtMemoryInfoDeviceType,
    OrtMemType,
    OrtSparseFormat,
)
from ._environment import (  # noqa: E402
    copy_tensors,
    disable_telemetry_events,
    enable_telemetry_events,
    get_build_info,
    get_device,
    get_version_string,
    has_collective_ops,
    preload_dlls,
    print_debug_info,
    set_default_logger_callback,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_global_thread_pool_sizes,
    set_seed,
)
from ._native import LoraAdapter, RunOptions  # noqa: E402
from ._options import SessionOptions  # noqa: E402
from ._providers import (  # noqa: E402
    get_all_providers,
    get_available_providers,
    register_execution_provider_library,
    unregister_execution_provider_library,
)
from ._session import InferenceSession, ModelMetadata, NodeArg, Session  # noqa: E402
from ._sparse import SparseTensor  # noqa: E402
from ._value import OrtValue, OrtValueVector  # noqa: E402

_library._native.set_value_classes(OrtValue, SparseTensor)

from . import capi, datasets  # noqa: E402
from .capi import (  # noqa: E402
    _ld_preload,
    _pybind_state,
    build_and_package_info,
    onnxruntime_inference_collection,
    onnxruntime_validation,
)

version = __version__
package_name = "trunnion"
cuda_version = ""

__all__ = [
    "ArenaExtendStrategy", "ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "IOBinding",
    "InferenceSession", "LoraAdapter", "ModelMetadata", "NodeArg", "OrtAllocatorType", "OrtArenaCfg", "OrtDevice",
    "OrtDeviceMemoryType", "OrtDeviceVendorId", "OrtEpAssignedNode", "OrtEpAssignedSubgraph", "OrtEpDevice",
    "OrtExecutionProviderDevicePolicy", "OrtHardwareDevice", "OrtHardwareDeviceType", "OrtMemType", "OrtMemoryInfo",
    "OrtMemoryInfoDeviceType", "OrtSparseFormat", "OrtSyncStream", "OrtValue", "OrtValueVector", "RunOptions",
    "Session", "SessionIOBinding", "SessionOptions", "SparseTensor", "copy_tensors", "create_and_register_allocator",
    "create_and_register_allocator_v2", "disable_telemetry_events", "enable_telemetry_events", "get_all_providers",
    "get_available_providers", "get_build_info", "get_device", "get_ep_devices", "get_hardware_devices",
    "get_version_string", "has_collective_ops", "preload_dlls", "print_debug_info",
    "register_execution_provider_library", "set_default_logger_callback", "set_default_logger_severity",
    "set_default_logger_verbosity", "set_global_thread_pool_sizes", "set_seed",
    "unregister_execution_provider_library",
    "__version__", "cuda_version", "package_name", "version",
]  # fmt: skip

# Names of onnxruntime's that mean something which trunnion does not do.
_ABSENT = {
    "ways to write adapter files": ("AdapterFormat",),
    "compiled models": (
        "ModelCompiler", "OrtCompileApiFlags", "OrtEpContextData", "OrtEpContextDataBuffer", "OrtExternalInitializerInfo"),
    "model packages": (
        "ModelPackage", "ModelPackageComponentContext", "ModelPackageContext", "ModelPackageOptions",
        "ModelPackageWriteMode"),
}  # fmt: skip


def __getattr__(name):
    for subject, names in _ABSENT.items():
        if name in names:
            raise AttributeError(f"trunnion has no {name}: {subject} are a part of onnxruntime that is not here")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
