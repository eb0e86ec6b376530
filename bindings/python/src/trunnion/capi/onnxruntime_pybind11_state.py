"""Everything that ONNX Runtime's native module has and this package offers, and all exception classes."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from .._binding import SessionIOBinding
from .._devices import (
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
from .._enums import (
    ArenaExtendStrategy,
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    OrtAllocatorType,
    OrtDeviceMemoryType,
    OrtExecutionProviderDevicePolicy,
    OrtHardwareDeviceType,
    OrtMemoryInfoDeviceType,
    OrtMemType,
    OrtSparseFormat,
)
from .._environment import (
    copy_tensors,
    disable_telemetry_events,
    enable_telemetry_events,
    get_build_info,
    get_device,
    get_version_string,
    has_collective_ops,
    set_default_logger_callback,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_global_thread_pool_sizes,
    set_seed,
)
from .._native import LoraAdapter, RunOptions
from .._options import SessionOptions
from .._providers import (
    get_all_providers,
    get_available_providers,
    register_execution_provider_library,
    unregister_execution_provider_library,
)
from .._session import InferenceSession as _InferenceSession
from .._session import ModelMetadata, NodeArg
from .._sparse import SparseBlockSparseView, SparseCooView, SparseCsrView, SparseTensor
from .._value import OrtValue, OrtValueVector
from .._weights import (
    quantize_matmul_2bits,
    quantize_matmul_4bits,
    quantize_matmul_8bits,
    quantize_matmul_bnb4,
    quantize_qdq_matmul_2bits,
    quantize_qdq_matmul_4bits,
)
from ..errors import (
    DeviceReset,
    EngineError,
    EPFail,
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    ModelLoadCanceled,
    ModelLoaded,
    ModelRequiresCompilation,
    NoModel,
    NoSuchFile,
    NotFound,
    NotImplemented,
    RuntimeException,
)

kNextPowerOfTwo = ArenaExtendStrategy.kNextPowerOfTwo
kSameAsRequested = ArenaExtendStrategy.kSameAsRequested

_default_options: SessionOptions | None = None


def get_default_session_options() -> SessionOptions:
    """Options that sessions made without any share."""
    global _default_options
    if _default_options is None:
        _default_options = SessionOptions()
    return _default_options


class InferenceSession(_InferenceSession):
    """A session as ONNX Runtime's native class makes it: in two steps."""

    def __init__(
        self, options: SessionOptions | None, model: Any, is_path: bool = True, read_config: bool = False
    ) -> None:
        self._deferred = (options, model if not is_path else str(model), read_config)

    def initialize_session(
        self,
        providers: Sequence[str] = (),
        provider_options: Sequence[Mapping[str, str]] = (),
        disabled_optimizers: Sequence[str] = (),
    ) -> None:
        """Loads the model."""
        options, model, read_config = self._deferred
        _InferenceSession.__init__(
            self, model, options, list(providers) or None, list(provider_options) or None,
            disabled_optimizers=disabled_optimizers, read_config_from_model=int(read_config),
        )  # fmt: skip

    inputs_meta = property(_InferenceSession.get_inputs)
    outputs_meta = property(_InferenceSession.get_outputs)
    overridable_initializers = property(_InferenceSession.get_overridable_initializers)
    model_meta = property(_InferenceSession.get_modelmeta)
    session_options = property(_InferenceSession.get_session_options)
    input_meminfos = property(_InferenceSession.get_input_memory_infos)
    output_meminfos = property(_InferenceSession.get_output_memory_infos)
