"""onnxruntime.capi: its submodules are trunnion.capi's own, under both names."""

import importlib
import sys

for _name in (
    "onnxruntime_pybind11_state", "_pybind_state", "onnxruntime_inference_collection", "onnxruntime_validation",
    "build_and_package_info", "_ld_preload",
):  # fmt: skip
    _module = importlib.import_module("trunnion.capi." + _name)
    sys.modules[f"{__name__}.{_name}"] = _module
    globals()[_name] = _module
