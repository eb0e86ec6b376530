"""The interface of onnx.backend on this engine: prepare(model).run(inputs), run_model, supports_device. It needs no onnx:
a model is a path, bytes or anything with SerializeToString()."""

from __future__ import annotations

from typing import Any, Sequence

from ._environment import get_device
from ._native import RunOptions
from ._options import SessionOptions
from ._session import InferenceSession


class OnnxRuntimeBackendRep:
    """A model that is ready to run; made by prepare()."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session

    def run(self, inputs: Any, **kwargs: Any) -> list:
        """The outputs for a list of inputs in the model's order, or for the one input of a model. Keywords are settings
        of RunOptions."""
        options = _with(RunOptions(), kwargs)
        ports = self._session.get_inputs()
        if not isinstance(inputs, (list, tuple)):
            inputs = [inputs]
        if len(inputs) != len(ports):
            raise RuntimeError(f"Model expect {len(ports)} inputs, {len(inputs)} are given")
        feeds = {port.name: value for port, value in zip(ports, inputs)}
        return self._session.run(None, feeds, options)


class OnnxRuntimeBackend:
    """The functions of this module as class methods, which test suites for backends take."""

    @classmethod
    def is_compatible(cls, model: Any, device: str | None = None, **kwargs: Any) -> bool:
        """Whether the model can be run on the device."""
        return cls.supports_device(device)

    @classmethod
    def supports_device(cls, device: str | None) -> bool:
        """Whether runs can be on this device: "CPU" or None."""
        return device is None or device.upper().split(":")[0] == get_device()

    @classmethod
    def prepare(cls, model: Any, device: str | None = None, **kwargs: Any) -> OnnxRuntimeBackendRep:
        """Loads a model. Keywords are settings of SessionOptions, and `providers`."""
        if isinstance(model, OnnxRuntimeBackendRep):
            return model
        if not cls.supports_device(device):
            raise RuntimeError(f"Incompatible device expected '{device}', got '{get_device()}'")
        if isinstance(model, InferenceSession):
            return OnnxRuntimeBackendRep(model)
        if hasattr(model, "SerializeToString"):
            model = model.SerializeToString()
        providers = kwargs.pop("providers", None)
        return OnnxRuntimeBackendRep(InferenceSession(model, _with(SessionOptions(), kwargs), providers))

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str | None = None, **kwargs: Any) -> list:
        """prepare() and run() in one; keywords are settings of either."""
        prepared = cls.prepare(model, device, **{k: v for k, v in kwargs.items() if not _is_setting(RunOptions, k)})
        return prepared.run(inputs, **{k: v for k, v in kwargs.items() if _is_setting(RunOptions, k)})

    @classmethod
    def run_node(cls, node: Any, inputs: Sequence, device: str | None = None, **kwargs: Any) -> list:
        """Not offered, as in onnxruntime: a node alone is no model."""
        raise NotImplementedError("It is much more efficient to run a whole model than every node independently.")


def _is_setting(kind: type, name: str) -> bool:
    return not name.startswith("_") and isinstance(getattr(kind, name, None), property)


def _with(options: Any, settings: dict) -> Any:
    for name, value in settings.items():
        if not _is_setting(type(options), name):
            raise TypeError(f"{type(options).__name__} has no setting {name!r}")
        setattr(options, name, value)
    return options


is_compatible = OnnxRuntimeBackend.is_compatible
supports_device = OnnxRuntimeBackend.supports_device
prepare = OnnxRuntimeBackend.prepare
run = run_model = OnnxRuntimeBackend.run_model
