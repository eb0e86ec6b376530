"""InferenceSession: a model that is loaded and can be run."""

from __future__ import annotations

import os
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Mapping, Sequence

from . import _environment, _model_config, _native, _providers, _report
from ._binding import IOBinding, SessionIOBinding
from ._devices import OrtDevice, OrtEpAssignedSubgraph, OrtEpDevice, OrtMemoryInfo
from ._options import SessionOptions
from ._value import OrtValue
from .errors import EPFail

_KEYWORDS = ("enable_fallback", "read_config_from_model", "disabled_optimizers")


class NodeArg:
    """An input or output of a model."""

    __slots__ = ("name", "type", "shape")

    def __init__(self, name: str, type: str, shape: list) -> None:
        self.name, self.type, self.shape = name, type, shape

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape!r})"


class ModelMetadata:
    """What a model says about itself."""

    __slots__ = (
        "producer_name", "graph_name", "domain", "description", "graph_description", "version", "custom_metadata_map",
    )  # fmt: skip

    def __init__(self, **facts: Any) -> None:
        for name in self.__slots__:
            setattr(self, name, facts[name])

    def __repr__(self) -> str:
        return f"ModelMetadata({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


class Session(_native.Session):
    """What all sessions can do."""

    def get_inputs(self) -> list[NodeArg]:
        """The model's inputs; initializers with the name of an input are not among them."""
        return list(self._inputs_meta)

    def get_outputs(self) -> list[NodeArg]:
        """The model's outputs."""
        return list(self._outputs_meta)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Initializers that a run may replace, because they are inputs as well."""
        return [NodeArg(*facts) for facts in self._initializers()]

    def get_modelmeta(self) -> ModelMetadata:
        """What the model says about itself."""
        return ModelMetadata(**self._metadata())

    def get_session_options(self) -> SessionOptions:
        """The options that the session was made with."""
        return self._sess_options

    def get_providers(self) -> list[str]:
        """The execution providers in use, in order of priority."""
        return list(self._providers)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """Options of the providers in use."""
        return {name: dict(options) for name, options in self._provider_options.items()}

    def get_provider_graph_assignment_info(self) -> list[OrtEpAssignedSubgraph]:
        """Which provider took which nodes; needs the entry session.record_ep_graph_assignment_info = 1."""
        return [OrtEpAssignedSubgraph(*facts) for facts in self._graph_assignment()]

    def get_input_memory_infos(self) -> list[OrtMemoryInfo]:
        """Where each input is wanted."""
        return [OrtMemoryInfo._borrow(handle) for handle in self._memory_infos(True)]

    def get_output_memory_infos(self) -> list[OrtMemoryInfo]:
        """Where each output is made."""
        return [OrtMemoryInfo._borrow(handle) for handle in self._memory_infos(False)]

    def get_input_epdevices(self) -> list[OrtEpDevice | None]:
        """The device that each input is wanted on."""
        return [OrtEpDevice(handle) if handle else None for handle in self._input_devices()]

    def run_with_ort_values(
        self, output_names: Sequence[str] | None, input_dict_ort_values: Mapping[str, OrtValue], run_options: Any = None
    ) -> list[OrtValue]:
        """run() with OrtValues as inputs and outputs."""
        return self._run_values(output_names, input_dict_ort_values, run_options)

    def run_with_ortvaluevector(
        self,
        run_options: Any,
        feed_names: Sequence[str],
        feeds: list[OrtValue],
        fetch_names: Sequence[str],
        fetches: list[OrtValue],
        fetch_devices: Sequence[OrtDevice] = (),
    ) -> None:
        """Runs into `fetches`: values that are there are written, missing ones are appended."""
        self._run_into(run_options, list(feed_names), feeds, list(fetch_names), fetches)

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list, Any, str], None],
        user_data: Any,
        run_options: Any = None,
    ) -> None:
        """Runs in the background and then calls callback(outputs, user_data, error) on that thread: `error` is "" or
        the message, `outputs` then []. The arrays must stay as they are until then."""
        feed = dict(input_feed)
        names = None if output_names is None else list(output_names)

        def work() -> None:
            try:
                outputs, error = self.run(names, feed, run_options), ""
            except Exception as failure:
                outputs, error = [], str(failure)
            callback(outputs, user_data, error)

        def report(future: Any) -> None:
            if future.exception() is not None:
                failure = future.exception()
                arguments = (type(failure), failure, failure.__traceback__, threading.current_thread())
                threading.excepthook(threading.ExceptHookArgs(arguments))

        with self._lock:
            if self._executor is None:
                threads = self._sess_options.intra_op_num_threads or os.cpu_count() or 1
                self._executor = ThreadPoolExecutor(max(1, threads), thread_name_prefix="trunnion-run-async")
            self._executor.submit(work).add_done_callback(report)

    def io_binding(self) -> IOBinding:
        """A new IOBinding for this session."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: Any = None) -> None:
        """Runs with what is bound."""
        if isinstance(iobinding, SessionIOBinding):
            iobinding = iobinding._binding
        iobinding._run(self, run_options)

    def create_ortvalue_from_shape_and_type(
        self, shape: Sequence[int], element_type: Any, device_type: str, device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """A new tensor on a device that this session uses."""
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type, device_type, device_id, vendor_id)

    def end_profiling(self) -> str:
        """Finishes the profile and returns its path; "" when profiling is off."""
        return self._end_profiling() if self._sess_options.enable_profiling else ""

    def get_profiling_start_time_ns(self) -> int:
        """When profiling began, in nanoseconds of its own clock; 0 when it is off."""
        return self._profiling_start() if self._sess_options.enable_profiling else 0

    def set_ep_dynamic_options(self, options: Mapping[str, str]) -> None:
        """Changes options of execution providers while the session lives."""
        if not options:
            raise RuntimeError("ep_dynamic_options: no options are given")
        self._set_dynamic_options(dict(options))

    def get_tuning_results(self) -> list:
        """[]: no provider here tunes itself."""
        return []

    def set_tuning_results(self, results: list, *, error_on_invalid: bool = False) -> None:
        """Takes what get_tuning_results() gave, which is nothing."""
        if results and error_on_invalid:
            raise RuntimeError("no provider here takes tuning results")

    def release_captured_graph(self, graph_annotation_id: int = 0) -> None:
        """Forgets a captured graph of a GPU provider."""
        self._release_captured_graph(graph_annotation_id)

    def enable_fallback(self) -> None:
        """Lets set_providers fall back to the CPU when a provider fails."""
        self._enable_fallback = True

    def disable_fallback(self) -> None:
        """Makes a failing provider an error."""
        self._enable_fallback = False

    placement = _report.placement
    placement_summary = _report.placement_summary
    load_timings = _report.load_timings
    memory = _report.memory
    graph_text = _report.graph_text

    # Names that programs written for onnxruntime reach for.
    @property
    def _sess(self) -> Session:
        return self

    @property
    def _model_meta(self) -> ModelMetadata:
        return self.get_modelmeta()


class InferenceSession(Session):
    """A model that is loaded and can be run by any number of threads at once.

    path_or_bytes: the path of an ONNX file, or the model as bytes, bytearray, memoryview or any other buffer.
    sess_options: SessionOptions; they are copied.
    providers: execution providers in order of priority, as names or (name, options) pairs; default: the CPU.
    provider_options: a dict a provider, when `providers` are plain names.
    disabled_optimizers: names of rewriting passes to leave out.
    read_config_from_model: take session options that the model carries (or ORT_LOAD_CONFIG_FROM_MODEL=1).
    enable_fallback: when a provider cannot take the model, warn and use the CPU (default 1).

    Sessions can be pickled and copied: the copy loads the model again, from the same path or from the bytes.
    Raises ValueError for an unknown provider and the classes of trunnion.errors for a model that cannot be loaded.
    """

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike | Any,
        sess_options: SessionOptions | None = None,
        providers: Sequence[str | tuple[str, Mapping]] | None = None,
        provider_options: Sequence[Mapping] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        for name in kwargs:
            if name not in _KEYWORDS:
                warnings.warn(f"InferenceSession takes no argument {name!r}; it is ignored.", stacklevel=2)
        if sess_options is not None and not isinstance(sess_options, SessionOptions):
            raise TypeError(f"sess_options must be a SessionOptions, not {type(sess_options).__name__}")
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._enable_fallback = bool(int(kwargs.get("enable_fallback", 1)))
        self._disabled_optimizers = sorted(set(kwargs.get("disabled_optimizers") or ()))
        self._sess_options = sess_options if sess_options is not None else SessionOptions()
        self._model_path, self._model = None, path_or_bytes
        if isinstance(path_or_bytes, (str, os.PathLike)):
            self._model = os.fspath(path_or_bytes)
            self._model_path = os.path.abspath(self._model)
        elif not _is_buffer(path_or_bytes):
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        if int(kwargs.get("read_config_from_model", os.environ.get("ORT_LOAD_CONFIG_FROM_MODEL", "0")) or 0):
            self._sess_options = _model_config.apply(self._model, self._sess_options)
        self._open(providers, provider_options)
        if self._model_path is not None:
            self._model = self._model_path

    def set_providers(
        self, providers: Sequence | None = None, provider_options: Sequence[Mapping] | None = None
    ) -> None:
        """Loads the model again with other providers; runs under way finish with the old ones."""
        self._open(providers, provider_options)

    def _open(self, providers: Sequence | None, provider_options: Sequence[Mapping] | None) -> None:
        chosen = _providers.normalize(providers, provider_options)
        try:
            self._load(chosen)
        except EPFail as error:
            if not self._enable_fallback or not any(name != _providers.CPU for name, _ in chosen):
                raise
            names = [name for name, _ in chosen]
            warnings.warn(f"EP Error {error} when using {names}. Falling back to ['{_providers.CPU}'].", stacklevel=4)
            self._load([(_providers.CPU, {})])

    def _load(self, chosen: list[tuple[str, dict[str, str]]]) -> None:
        options = self._sess_options
        if not options.use_per_session_threads:
            _native.use_global_pools()
        native = options._for_session(self._disabled_optimizers, _environment.session_entries())
        if "log_verbosity_level" not in options._values and _environment.default_verbosity():
            native.set_log_verbosity_level(_environment.default_verbosity())
        for place, (name, entries) in enumerate(chosen, 1):
            if name == _providers.CPU and not entries and place == len(chosen):
                continue  # always there, last
            _providers.append(native, name, entries)
        if isinstance(self._model, str):
            self._open_path(native, self._model)
        else:
            self._open_bytes(native, self._model)
        self._inputs_meta = [NodeArg(*facts) for facts in self._inputs()]
        self._outputs_meta = [NodeArg(*facts) for facts in self._outputs()]
        self._provider_options = {**{name: {} for name in options._providers}, **dict(chosen)}
        self._provider_options.setdefault(_providers.CPU, {})
        self._providers = list(self._provider_options)

    def __reduce__(self) -> tuple:
        model = self._model if isinstance(self._model, (str, bytes)) else bytes(self._model)
        chosen = [(name, options) for name, options in self._provider_options.items()]
        keywords = {"enable_fallback": self._enable_fallback, "disabled_optimizers": self._disabled_optimizers,
                    "read_config_from_model": 0}  # fmt: skip
        return _restore, (type(self), model, self._sess_options, chosen, keywords)


def _restore(kind: type, model: Any, options: SessionOptions, providers: list, keywords: dict) -> InferenceSession:
    session = kind.__new__(kind)
    InferenceSession.__init__(session, model, options, None if options._providers else providers, **keywords)
    return session


def _is_buffer(candidate: Any) -> bool:
    try:
        memoryview(candidate).release()
    except TypeError:
        return False
    return True
