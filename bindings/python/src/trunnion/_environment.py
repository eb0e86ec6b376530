"""Settings of the process: log lines, seeds, thread pools; versions and facts for bug reports."""

from __future__ import annotations

import platform
import sys
from typing import Any, Callable

from . import _native
from ._providers import CPU, get_available_providers

_verbosity = 0
_seed: int | None = None

get_version_string = _native.get_version_string
get_build_info = _native.get_build_info


def set_default_logger_severity(severity: int) -> None:
    """The level from which lines are logged: 0 verbose, 1 info, 2 warning (default), 3 error, 4 fatal. Sessions may set
    their own (SessionOptions.log_severity_level)."""
    _native.set_default_logger_severity(int(severity))


def set_default_logger_verbosity(verbosity: int) -> None:
    """Verbosity of verbose lines of the sessions made from now on, unless their options say otherwise."""
    global _verbosity
    _verbosity = int(verbosity)


def set_default_logger_callback(callback: Callable[[int, str, str, str, str], None] | None, severity: int = 2) -> None:
    """Hands all log lines to callback(severity, category, logid, code_location, message), on whichever thread they come
    from, instead of stderr; None brings stderr back. `severity` becomes the default level."""
    if callback is not None and not callable(callback):
        raise TypeError("callback must be callable or None")
    _native.set_default_logger_callback(callback, int(severity))


def set_seed(seed: int) -> None:
    """Seed of the random operators that have none of their own, in the sessions made from now on."""
    global _seed
    _seed = int(seed)


def set_global_thread_pool_sizes(intra_op_num_threads: int = 0, inter_op_num_threads: int = 0) -> None:
    """Sizes of the pools that sessions with use_per_session_threads=False share; 0: automatic. To be called before the
    first session is made."""
    _native.set_global_thread_pool_sizes(int(intra_op_num_threads), int(inter_op_num_threads))


def enable_telemetry_events() -> None:
    """Has no effect: nothing is ever sent."""
    _native.enable_telemetry_events()


def disable_telemetry_events() -> None:
    """Has no effect: nothing is ever sent."""
    _native.disable_telemetry_events()


def has_collective_ops() -> bool:
    """False: there are no collective operators."""
    return False


def get_device() -> str:
    """'CPU', or 'GPU' when a provider for one is available."""
    gpu = {"CUDAExecutionProvider", "TensorrtExecutionProvider", "MIGraphXExecutionProvider", "DmlExecutionProvider"}
    return "GPU" if gpu & set(get_available_providers()) else "CPU"


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None:
    """Has no effect here: no provider of this package needs libraries of CUDA."""


def print_debug_info() -> None:
    """Prints what a bug report should hold."""
    from . import __version__

    print(f"trunnion version: {__version__} (ONNX Runtime C ABI {get_version_string()})")
    print(f"library: {_native.library_path()}")
    print(f"build: {get_build_info()}")
    print(f"platform: {platform.platform()}")
    print(f"python: {sys.version.split()[0]} at {sys.executable}")
    print(f"numpy: {__import__('numpy').__version__}")
    print(f"providers: {', '.join(get_available_providers() or [CPU])}")


def copy_tensors(src: Any, dst: Any, stream: Any = None) -> None:
    """Copies the contents of OrtValues into others of the same types and shapes."""
    _native.copy_tensors(list(src), list(dst))


def session_entries() -> dict[str, str]:
    """Configuration entries that the process's settings add to a new session."""
    return {} if _seed is None else {"session.random_seed": str(_seed)}


def default_verbosity() -> int:
    return _verbosity
