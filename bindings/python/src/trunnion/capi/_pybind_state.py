"""onnxruntime_pybind11_state under its other name."""

from .onnxruntime_pybind11_state import *  # noqa: F403
