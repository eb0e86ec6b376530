"""SessionOptions. Every setting is handed to the engine when it is made, so that a bad one raises where it stands; what
was set is kept here too, because the C ABI has no getters and because options can be pickled and copied."""

from __future__ import annotations

import operator
import os
from typing import Any, Callable, Mapping, Sequence

from . import _native
from ._enums import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, OrtExecutionProviderDevicePolicy

_DISABLED = "optimization.disable_specified_optimizers"


def _setting(
    name: str, default: Any, convert: Callable[[Any], Any], doc: str, apply: Callable | None = None
) -> property:
    """A property that passes its value to the native setter set_<name>, or to `apply(options, value)`."""

    def get(self: SessionOptions) -> Any:
        return self._values.get(name, default)

    def set_(self: SessionOptions, value: Any) -> None:
        value = convert(value)
        if apply is None:
            getattr(self._native, "set_" + name)(value)
        else:
            self._values[name] = value  # `apply` may look at others as well
            apply(self, value)
        self._values[name] = value

    return property(get, set_, doc=doc)


def _kept(options: SessionOptions, value: Any) -> None:
    """For settings that are applied when a session is made, or have no counterpart in the C ABI."""


def _apply_profiling(options: SessionOptions, _: Any) -> None:
    options._native.set_profiling(options.enable_profiling, options.profile_file_prefix)


class SessionOptions:
    """Settings of a session. One object may serve several sessions; each takes a copy when it is made."""

    __slots__ = ("_native", "_values", "_entries", "_calls", "_bound", "_providers", "__weakref__")

    def __init__(self) -> None:
        self._native = _native.make_options()
        self._values: dict[str, Any] = {}
        self._entries: dict[str, str] = {}
        self._calls: list[tuple] = []  # method names and arguments that a copy repeats
        self._bound: list[str] = []  # what was given that lives in this process only
        self._providers: list[str] = []

    graph_optimization_level = _setting(
        "graph_optimization_level", GraphOptimizationLevel.ORT_ENABLE_ALL, GraphOptimizationLevel,
        "How far the model is rewritten before it runs; default ORT_ENABLE_ALL.")  # fmt: skip
    execution_mode = _setting(
        "execution_mode", ExecutionMode.ORT_SEQUENTIAL, ExecutionMode,
        "ORT_SEQUENTIAL (default) or ORT_PARALLEL.")  # fmt: skip
    execution_order = _setting(
        "execution_order", ExecutionOrder.DEFAULT, ExecutionOrder,
        "Accepted for compatibility: the engine chooses the order.", _kept)  # fmt: skip
    intra_op_num_threads = _setting(
        "intra_op_num_threads", 0, operator.index,
        "Threads that may work on one run, the caller included; 0 (default): as many as the machine gives.")  # fmt: skip
    inter_op_num_threads = _setting(
        "inter_op_num_threads", 0, operator.index, "Nodes that may run at the same time in ORT_PARALLEL; 0: automatic."
    )
    enable_profiling = _setting("enable_profiling", False, bool, "Write a profile of every run.", _apply_profiling)
    profile_file_prefix = _setting(
        "profile_file_prefix", "onnxruntime_profile_", os.fspath, "Path that profiles begin with; a time is appended.",
        _apply_profiling)  # fmt: skip
    optimized_model_filepath = _setting(
        "optimized_model_filepath", "", os.fspath, "Write the rewritten model here when the session is made."
    )
    enable_cpu_mem_arena = _setting("enable_cpu_mem_arena", True, bool, "Keep freed memory for the next run.")
    enable_mem_pattern = _setting("enable_mem_pattern", True, bool, "Plan memory by the input shapes.")
    enable_mem_reuse = _setting("enable_mem_reuse", True, bool, "Accepted for compatibility: always on.", _kept)
    log_severity_level = _setting(
        "log_severity_level", -1, operator.index,
        "0 verbose, 1 info, 2 warning, 3 error, 4 fatal; -1 (default): what set_default_logger_severity says.")  # fmt: skip
    log_verbosity_level = _setting("log_verbosity_level", 0, operator.index, "Verbosity of verbose lines.")
    logid = _setting("logid", "", str, "A name that this session's log lines carry.")
    use_deterministic_compute = _setting(
        "use_deterministic_compute", False, bool, "The same bits from run to run, whatever the number of threads."
    )
    use_per_session_threads = _setting(
        "use_per_session_threads", True, bool, "False: share the pools of set_global_thread_pool_sizes.", _kept
    )

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Sets one configuration entry; a key that the engine does not know gives a warning with near names."""
        self._native.add_config_entry(key, value)
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """The entry's value; RuntimeError when it was not set."""
        if key not in self._entries:
            raise RuntimeError(f"SessionOptions does not have configuration with key: {key}")
        return self._entries[key]

    def add_free_dimension_override_by_name(self, name: str, extent: int) -> None:
        """Gives the symbolic dimension `name` of the model's inputs a fixed extent."""
        self._call("add_free_dimension_by_name", name, operator.index(extent))

    def add_free_dimension_override_by_denotation(self, denotation: str, extent: int) -> None:
        """Gives all dimensions with this denotation (for example "DATA_BATCH") a fixed extent."""
        self._call("add_free_dimension_by_denotation", denotation, operator.index(extent))

    def register_custom_ops_library(self, path: str | os.PathLike) -> None:
        """Loads a library of custom operators (it exports RegisterCustomOps)."""
        self._call("register_custom_ops_library", os.fspath(path))

    def add_initializer(self, name: str, value: Any) -> None:
        """Replaces the initializer `name` by an OrtValue, which sessions may share; it stays alive with them."""
        self._native.add_initializer(name, value)
        self._bound.append("add_initializer")

    def add_external_initializers(self, names: Sequence[str], values: Sequence[Any]) -> None:
        """Gives OrtValues for initializers whose data is external."""
        self._native.add_external_initializers(list(names), list(values))
        self._bound.append("add_external_initializers")

    def add_external_initializers_from_files_in_memory(
        self, names: Sequence[str], buffers: Sequence[Any], lengths: Sequence[int]
    ) -> None:
        """Gives the contents of external data files as bytes-like objects, by the names that the model uses."""
        self._native.add_external_files(list(names), list(buffers), list(lengths))
        self._bound.append("add_external_initializers_from_files_in_memory")

    def add_provider(self, name: str, options: Mapping[str, Any] | None = None) -> None:
        """Appends an execution provider to the list that sessions use."""
        from . import _providers

        _providers.append(self._native, _providers.known(name), dict(options or {}))
        self._providers.append(name)
        self._calls.append(("add_provider", name, dict(options or {})))

    def add_provider_for_devices(self, devices: Sequence[Any], options: Mapping[str, Any] | None = None) -> None:
        """Appends the provider of these OrtEpDevices (of get_ep_devices(); all of one provider)."""
        self._native.append_devices([device._handle for device in devices], dict(options or {}))
        self._providers += [name for name in {device.ep_name: None for device in devices}]
        self._bound.append("add_provider_for_devices")

    def has_providers(self) -> bool:
        """Whether a provider was added here."""
        return bool(self._providers)

    def set_provider_selection_policy(self, policy: OrtExecutionProviderDevicePolicy) -> None:
        """Lets the engine choose providers by a policy."""
        self._call("set_provider_selection_policy", int(OrtExecutionProviderDevicePolicy(policy)))

    def set_load_cancellation_flag(self, cancel: bool) -> None:
        """True, from another thread, stops a load under way: it raises ModelLoadCanceled."""
        self._native.set_load_cancellation_flag(bool(cancel))

    def _call(self, method: str, *arguments: Any) -> None:
        getattr(self._native, method)(*arguments)
        self._calls.append((method, *arguments))

    def _for_session(self, disabled_optimizers: Sequence[str], entries: Mapping[str, str]) -> Any:
        """A native copy for one session."""
        native = self._native.clone()
        if disabled_optimizers:
            names = [name for name in self._entries.get(_DISABLED, "").split(";") if name]
            native.add_config_entry(_DISABLED, ";".join([*names, *sorted(disabled_optimizers)]))
        for key, value in entries.items():
            if key not in self._entries:
                native.add_config_entry(key, value)
        if not self.use_per_session_threads:
            native.disable_per_session_threads()
        return native

    def _copy(self) -> SessionOptions:
        """A copy that shares what lives in this process only."""
        other = SessionOptions()
        other._native = self._native.clone()
        other._values, other._entries = dict(self._values), dict(self._entries)
        other._calls, other._bound, other._providers = list(self._calls), list(self._bound), list(self._providers)
        return other

    def __copy__(self) -> SessionOptions:
        return self._copy()

    def __deepcopy__(self, memo: dict) -> SessionOptions:
        return self._copy()

    def __getstate__(self) -> dict:
        if self._bound:
            raise TypeError(f"SessionOptions with {self._bound[0]} cannot be pickled: its values live in this process")
        return {"values": self._values, "entries": self._entries, "calls": self._calls}

    def __setstate__(self, state: dict) -> None:
        self.__init__()
        for name, value in state["values"].items():
            setattr(self, name, value)
        for key, value in state["entries"].items():
            self.add_session_config_entry(key, value)
        for method, *arguments in state["calls"]:
            if method == "add_provider":
                self.add_provider(*arguments)
            else:
                self._call(method, *arguments)
