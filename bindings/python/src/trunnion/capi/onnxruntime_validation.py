"""Checks that ONNX Runtime makes on import; there is nothing to check here."""

has_ortmodule = False
package_name = "trunnion"
version = ""
cuda_version = ""


def check_distro_info() -> None:
    """Has no effect."""


def validate_build_package_info() -> tuple:
    """(False, package name, version, CUDA version): training is not part of this package."""
    return has_ortmodule, package_name, version, cuda_version
