"""The package itself: what it imports, what it carries, that its stubs name what is there."""

import ast
import importlib.util
import inspect
import os
import pathlib

import numpy as np
import pytest
from small_models import OWN, relu, session

import trunnion as ort
from trunnion import _native, errors

FOLDER = pathlib.Path(ort.__file__).parent


def test_it_imports_neither_onnx_nor_onnxruntime(python):
    code = (
        "import sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('onnx', 'onnxruntime'): raise AssertionError(name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "import pkgutil, importlib, trunnion as ort\n"
        "for module in pkgutil.walk_packages(ort.__path__, 'trunnion.'):\n"
        "    if 'libtrunnion' not in module.name: importlib.import_module(module.name)\n"
        "s = ort.InferenceSession(ort.datasets.get_example('mul_1.onnx'))\n"
        "s.run(None, {'X': [[1, 1]] * 3}); s.io_binding(); s.get_modelmeta()\n"
        "assert 'ml_dtypes' not in sys.modules\n"
        "print('clean')\n"
    )
    assert python(code=code).stdout.strip() == "clean"


def test_the_sources_import_neither():
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            for name in names:
                assert name.split(".")[0] not in ("onnx", "onnxruntime"), f"{path}:{node.lineno}"


def test_it_is_typed():
    assert (FOLDER / "py.typed").exists() and (FOLDER / "_native.pyi").exists()


def test_the_stub_names_what_the_native_module_has():
    tree = ast.parse((FOLDER / "_native.pyi").read_text())
    public = {name for name in dir(_native) if not name.startswith("__")}
    stated = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert stated == public
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            members = {part.name if isinstance(part, ast.FunctionDef) else part.target.id for part in node.body
                       if isinstance(part, (ast.FunctionDef, ast.AnnAssign))}  # fmt: skip
            present = {name for name in vars(getattr(_native, node.name)) if not name.startswith("__")}
            assert present <= members, f"{node.name}: {present - members}"


def test_every_public_thing_has_a_docstring():
    bare = []
    for name, thing in vars(ort).items():
        if name.startswith("_") or not (inspect.isclass(thing) or inspect.isroutine(thing)):
            continue
        if name not in ("get_version_string", "get_build_info") and not inspect.getdoc(thing):
            bare.append(name)
        if inspect.isclass(thing) and thing.__module__.startswith("trunnion"):
            bare += [f"{name}.{member}" for member, value in vars(thing).items()
                     if not member.startswith("_") and inspect.isfunction(value) and not value.__doc__
                     and value.__name__ != "<lambda>"]  # fmt: skip
    assert not bare


def test_the_engine_is_not_part_of_the_extension():
    """One library, loaded beside it: the extension exports its init function only and links no engine."""
    import subprocess

    extension = importlib.util.find_spec("trunnion._native").origin
    assert os.path.getsize(extension) < 3 << 20
    needed = subprocess.run(["readelf", "-d", extension], capture_output=True, text=True).stdout
    assert "onnxruntime" not in needed
    library = os.path.realpath(_native.library_path())
    with open("/proc/self/maps") as maps:
        mapped = {os.path.realpath(line.split()[-1]) for line in maps if "/" in line}
    assert library in mapped
    assert {path for path in mapped if os.path.basename(path).startswith("libonnxruntime.so")} <= {library}


def test_another_library(python):
    done = python("-c", "import trunnion", TRUNNION_LIBRARY="/nowhere/lib.so", check=False)
    assert "trunnion's engine cannot be loaded" in done.stderr and "/nowhere/lib.so" in done.stderr
    done = python("-c", "import trunnion", TRUNNION_LIBRARY=importlib.util.find_spec("_ctypes").origin, check=False)
    assert "does not export OrtGetApiBase" in done.stderr


@pytest.mark.own
def test_extras():
    s = session(relu())
    report = s.placement()
    assert isinstance(report, dict) and "CPUExecutionProvider" in str(report)
    assert "1 node" in s.placement_summary() and "CPUExecutionProvider" in s.placement_summary()
    timings = s.load_timings()
    assert timings["total"] > 0 and all(value >= 0 for value in timings.values()) and len(timings) > 3
    assert all(isinstance(value, int) for value in s.memory().values())
    assert "Relu" in s.graph_text()


def test_extras_of_another_library():
    if OWN:
        pytest.skip("this is trunnion's library")
    with pytest.raises(errors.NotImplemented, match="trunnion's own library"):
        session(relu()).placement()


def test_overhead_of_a_run():
    """What Python adds to a run stays far below what a small model takes; the bound is loose, for busy machines."""
    import time

    s = session(relu())
    feed = {"X": np.ones((1, 3), np.float32)}
    best = min(_timed(s, feed, time.perf_counter) for _ in range(20))
    assert best < 50e-6


def _timed(s, feed, clock):
    begin = clock()
    for _ in range(100):
        s.run(None, feed)
    return (clock() - begin) / 100
