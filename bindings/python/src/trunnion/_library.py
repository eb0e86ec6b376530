"""Finds and loads the engine's shared library, once a process.

It is libonnxruntime.so.1 beside this file. TRUNNION_LIBRARY names another file that exports the ONNX Runtime C ABI,
version 1.24 or newer; the functions that need trunnion's own library then raise NotImplemented.
"""

import os

from . import _native

VARIABLE = "TRUNNION_LIBRARY"


def path() -> str:
    """The library's path: the variable's when it is set, else that of the packaged one."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return os.path.abspath(chosen)
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "libonnxruntime.so.1")


def load() -> None:
    _native.load(path())
