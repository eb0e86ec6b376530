"""The Python environment in build/venv: its interpreter, its pinned packages, and trunnion itself in it."""
import os
import shutil
import subprocess

import packages
import steps
from paths import BINDING, MODULE, PYTHON, ROOT, VENV

# Versions of Python for which every pinned package has a wheel.
PROBE = """
import ensurepip, os, sys, sysconfig, venv
assert (3, 11) <= sys.version_info[:2] <= (3, 12)
assert os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h"))
print(sys.version.split()[0])
"""
REQUIREMENTS = {
    "build": BINDING / "requirements-build.txt",
    "test": BINDING / "requirements-test.txt",
    "demo": ROOT / "demo/requirements.txt",
}
PIP = ["-m", "pip", "--disable-pip-version-check", "--no-input", "install"]


def find_interpreter() -> tuple | None:
    """(path, version) of a Python that can make environments and has its headers; Debian's own comes first."""
    names = [os.environ.get("TRUNNION_PYTHON"), "/usr/bin/python3", "python3.12", "python3.11", "python3"]
    for name in filter(None, names):
        path = shutil.which(name)
        if not path:
            continue
        probe = subprocess.run([path, "-c", PROBE], capture_output=True, text=True)
        if probe.returncode == 0:
            return path, probe.stdout.strip()
    return None


def ensure(*purposes: str) -> None:
    """build/venv with the pinned packages of each purpose (a key of REQUIREMENTS)."""
    if not PYTHON.exists() or subprocess.run([PYTHON, "-c", ""], capture_output=True).returncode:
        packages.ensure(packages.PYTHON)
        found = find_interpreter()
        if not found:
            raise steps.Failed("no Python 3.11 or 3.12 with venv and headers; name one in TRUNNION_PYTHON")
        shutil.rmtree(VENV, ignore_errors=True)
        steps.run(f"make a Python {found[1]} environment", [found[0], "-m", "venv", VENV])
    for purpose in purposes:
        mark = steps.fingerprint(REQUIREMENTS[purpose], VENV.stat().st_ino)
        if not steps.is_done(f"requirements-{purpose}", mark):
            title = f"install the Python packages to {purpose}"
            options = ["--no-deps"] if purpose == "demo" else []  # the demo's reader asks for the engine that trunnion replaces
            steps.run(title, [PYTHON, *PIP, *options, "-r", REQUIREMENTS[purpose]])
            steps.set_done(f"requirements-{purpose}", mark)


def link_trunnion() -> None:
    """Makes the environment import the module that the build keeps in build/release/python."""
    folder = next(VENV.glob("lib/python3.*/site-packages"))
    link = folder / "trunnion.pth"
    if not link.is_file() or link.read_text() != f"{MODULE}\n":
        link.write_text(f"{MODULE}\n")


# What the demo's reader feeds its models with: a picture, six lines to turn, six lines to read.
DEMO_SHAPES = {"det": "x=1,3,736,992", "cls": "x=6,3,48,192", "rec": "x=6,3,48,320"}


def demo_models() -> list:
    """For each model that the demo's reader carries: [file, --shape, its input's shape]."""
    models = sorted(VENV.glob("lib/python3.*/site-packages/rapidocr_onnxruntime/models/*.onnx"))
    return [[model, "--shape", shape] for model in models for kind, shape in DEMO_SHAPES.items() if f"_{kind}_" in model.name]
