"""Where things lie. Everything that ./dev makes is under build/, so that ./dev clean is one removal."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
RELEASE = BUILD / "release"  # the preset of that name
VENV = BUILD / "venv"
LOGS = BUILD / "log"
STAMPS = BUILD / "stamps"
BINDING = ROOT / "bindings/python"

LIBRARY = RELEASE / "libonnxruntime.so.1"
PROGRAM = RELEASE / "trunnion"
MODULE = RELEASE / "python"  # a folder that holds the package trunnion
PYTHON = VENV / "bin/python"
