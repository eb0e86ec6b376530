"""Session options that a model carries in its metadata (key "ort_config"), read without loading the model."""

from __future__ import annotations

import json
import mmap
import operator
from typing import Any, Iterator

from ._enums import ExecutionMode, GraphOptimizationLevel
from ._options import SessionOptions

_KEY = "ort_config"
_METADATA_PROPS = 14  # field of ModelProto; its entries have the key in field 1 and the value in field 2
_CONVERSIONS = {
    "intra_op_num_threads": operator.index,
    "inter_op_num_threads": operator.index,
    "execution_mode": ExecutionMode,
    "graph_optimization_level": GraphOptimizationLevel,
    "enable_profiling": bool,
}


def _varint(data: Any, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data: Any) -> Iterator[tuple[int, Any]]:
    """Field numbers and contents of the length-delimited fields of a message; stops where it is malformed."""
    at = 0
    try:
        while at < len(data):
            tag, at = _varint(data, at)
            if tag & 7 == 2:
                size, at = _varint(data, at)
                yield tag >> 3, data[at : at + size]
                at += size
            elif tag & 7 == 0:
                _, at = _varint(data, at)
            elif tag & 7 in (1, 5):
                at += 8 if tag & 7 == 1 else 4
            else:
                return
    except IndexError:
        return


def _config_text(data: Any) -> str | None:
    for number, content in _fields(data):
        if number == _METADATA_PROPS:
            entry = {field: bytes(text) for field, text in _fields(content)}
            if entry.get(1) == _KEY.encode():
                return entry.get(2, b"").decode()
    return None


def apply(model: Any, options: SessionOptions) -> SessionOptions:
    """`options` with those of the model (a path or bytes) over them. ValueError when its JSON is not right."""
    if isinstance(model, str):
        with open(model, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            with memoryview(data) as view:
                text = _config_text_released(view)
    else:
        text = _config_text(memoryview(model).cast("B"))
    if text is None:
        return options
    try:
        wanted = json.loads(text).get("session_options", {})
        changed = options._copy()
        for name, value in wanted.items():
            if name not in _CONVERSIONS:
                raise ValueError(f"unknown session option {name!r}")
            setattr(changed, name, _CONVERSIONS[name](value))
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"the model's metadata entry {_KEY!r} is not usable: {error}") from None
    return changed


def _config_text_released(view: memoryview) -> str | None:
    """_config_text, with no slice of the view left over, so that the map can be closed."""
    text = _config_text(view)
    return None if text is None else str(text)
