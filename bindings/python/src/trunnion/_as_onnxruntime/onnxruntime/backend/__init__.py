"""onnxruntime.backend: trunnion.backend under the names of its modules there."""

import sys

from trunnion import backend, backend as backend_rep
from trunnion.backend import is_compatible, prepare, run, supports_device  # noqa: F401

sys.modules[f"{__name__}.backend"] = sys.modules[f"{__name__}.backend_rep"] = backend
