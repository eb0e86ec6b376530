"""The engine's errors: one class a code, with the names, codes and message form of ONNX Runtime."""


class Error(Exception):
    """Base of all errors of the engine; `code` and `label` are the class's."""

    code = 0
    label = "OK"


class Fail(Error):
    """General failure; also a run that was told to terminate."""

    code, label = 1, "FAIL"


class InvalidArgument(Error):
    """An unknown name, a wrong type, rank or dimension, a bad option."""

    code, label = 2, "INVALID_ARGUMENT"


class NoSuchFile(Error):
    """A file does not exist."""

    code, label = 3, "NO_SUCHFILE"


class NoModel(Error):
    """There is no model where one is needed."""

    code, label = 4, "NO_MODEL"


class EngineError(Error):
    """An error inside an execution provider's engine."""

    code, label = 5, "ENGINE_ERROR"


class RuntimeException(Error):
    """A node failed while the model ran."""

    code, label = 6, "RUNTIME_EXCEPTION"


class InvalidProtobuf(Error):
    """The bytes are no ONNX model."""

    code, label = 7, "INVALID_PROTOBUF"


class ModelLoaded(Error):
    """A model was loaded already."""

    code, label = 8, "MODEL_LOADED"


class NotImplemented(Error):  # the name that ONNX Runtime's users import
    """The engine does not have this operator, type or function."""

    code, label = 9, "NOT_IMPLEMENTED"


class InvalidGraph(Error):
    """The model breaks a rule of ONNX."""

    code, label = 10, "INVALID_GRAPH"


class EPFail(Error):
    """An execution provider failed."""

    code, label = 11, "EP_FAIL"


class ModelLoadCanceled(Error):
    """Loading was stopped by SessionOptions.set_load_cancellation_flag."""

    code, label = 12, "MODEL_LOAD_CANCELED"


class ModelRequiresCompilation(Error):
    """The model has to be compiled for a provider first."""

    code, label = 13, "MODEL_REQUIRES_COMPILATION"


class NotFound(Error):
    """Something that was asked for by name does not exist."""

    code, label = 14, "NOT_FOUND"


class DeviceReset(Error):
    """The device was reset; sessions on it have to be made anew."""

    code, label = 15, "DEVICE_RESET"


CLASSES = {
    kind.code: kind
    for kind in (
        Fail, InvalidArgument, NoSuchFile, NoModel, EngineError, RuntimeException, InvalidProtobuf, ModelLoaded,
        NotImplemented, InvalidGraph, EPFail, ModelLoadCanceled, ModelRequiresCompilation, NotFound, DeviceReset,
    )
}  # fmt: skip


def from_status(code: int, message: str) -> Error:
    """The exception for a status of the C ABI, in ONNX Runtime's form of words."""
    kind = CLASSES.get(code, Fail)
    return kind(f"[ONNXRuntimeError] : {code} : {kind.label} : {message}")
