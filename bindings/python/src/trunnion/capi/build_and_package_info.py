"""Facts about the package, by ONNX Runtime's names."""

from .. import __version__  # noqa: F401

package_name = "trunnion"
use_cuda = False
cuda_version = ""
cudnn_version = ""
vs2019 = False
