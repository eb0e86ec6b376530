"""trunnion under the name onnxruntime. trunnion.as_onnxruntime puts this folder on the import path."""

import trunnion as _trunnion
from trunnion import *  # noqa: F403

from . import capi, datasets  # noqa: F401

__version__ = "1.32.0"
__author__ = "trunnion"
version = __version__
package_name = "onnxruntime"
cuda_version = ""


def __getattr__(name):
    # What trunnion loads late, and its private names.
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_trunnion, name)
