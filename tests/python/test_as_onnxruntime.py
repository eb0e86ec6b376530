"""Programs that import onnxruntime, run on trunnion."""

import os
import subprocess
import sys
import zipfile

import pytest

PROGRAM = """
import importlib.metadata, importlib.util, json, os, pathlib, sys
import onnxruntime
import onnxruntime as ort
import onnxruntime.capi.onnxruntime_pybind11_state as state
from onnxruntime import InferenceSession, SessionOptions, GraphOptimizationLevel, get_available_providers
from onnxruntime.capi import _pybind_state as C
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, NoSuchFile, NotImplemented, RuntimeException
from onnxruntime.capi.onnxruntime_inference_collection import IOBinding, OrtDevice, OrtValue, SparseTensor
from onnxruntime.datasets import get_example
import trunnion

spec = importlib.util.find_spec("onnxruntime")
session = InferenceSession(get_example("mul_1.onnx"), SessionOptions(), providers=["CPUExecutionProvider"])
try:
    session.run(None, {"Q": [[1, 1]] * 3, "X": [[1, 1]] * 3})
except state.InvalidArgument as error:
    message = str(error)
print(json.dumps({
    "main": __name__, "argv": sys.argv[1:], "same": ort.InferenceSession is trunnion.InferenceSession,
    "versions": [ort.__version__, importlib.metadata.version("onnxruntime")],
    "distribution": importlib.metadata.distribution("onnxruntime").metadata["Name"],
    "origin": pathlib.Path(spec.origin).name,
    "library": [sorted(p.name for p in pathlib.Path(f, "capi").glob("libonnxruntime.so*")) for f in spec.submodule_search_locations],
    "runs": session.run(None, {"X": [[1, 1]] * 3})[0].tolist(), "message": message,
    "modules": onnxruntime.capi.onnxruntime_pybind11_state is C or hasattr(C, "Fail"),
    "private": ort._pybind_state is not None,
}))
"""


def facts(done):
    import json

    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert found["same"] and found["versions"] == ["1.32.0", "1.32.0"] and found["distribution"] == "onnxruntime"
    assert found["runs"] == [[1, 2], [3, 4], [5, 6]] and "Invalid input name: Q" in found["message"]
    assert found["origin"] == "__init__.py" and found["library"] == [["libonnxruntime.so.1"]]
    assert found["modules"] and found["private"]
    return found


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_script(python, program):
    found = facts(python("-m", "trunnion.as_onnxruntime", program, "--flag", "value"))
    assert found["main"] == "__main__" and found["argv"] == ["--flag", "value"]


def test_module(python, program, tmp_path):
    done = python("-m", "trunnion.as_onnxruntime", "-m", "program", "x", PYTHONPATH=path_with(tmp_path))
    assert facts(done)["argv"] == ["x"]


def path_with(folder):
    import trunnion

    return os.pathsep.join([str(folder), os.path.dirname(os.path.dirname(os.path.abspath(trunnion.__file__)))])


def test_code(python):
    assert facts(python("-m", "trunnion.as_onnxruntime", "-c", PROGRAM, "a"))["argv"] == ["a"]


def test_zip(python, tmp_path):
    path = tmp_path / "program.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("__main__.py", PROGRAM)
    facts(python("-m", "trunnion.as_onnxruntime", path))


def test_scripts_folder_comes_first(python, tmp_path):
    (tmp_path / "beside.py").write_text("name = 'mine'")
    script = tmp_path / "script.py"
    script.write_text(
        "import beside, sys, onnxruntime; print(beside.name, sys.argv[0] == __file__, onnxruntime.__version__)"
    )
    assert python("-m", "trunnion.as_onnxruntime", script).stdout.split() == ["mine", "True", "1.32.0"]


def test_install(python):
    code = "import trunnion.as_onnxruntime as a; a.install(); a.install()\n" + PROGRAM
    facts(python(code=code))


def test_started_pythons(python, program):
    code = (
        "import trunnion.as_onnxruntime as a; a.install()\n"
        "import subprocess, sys\n"
        f"print(subprocess.run([sys.executable, {str(program)!r}], capture_output=True, text=True, check=True).stdout)\n"
    )
    facts(python(code=code))


def test_spawned_workers(python, tmp_path):
    script = tmp_path / "workers.py"
    script.write_text(
        "import multiprocessing\n"
        "def work(x):\n"
        "    import onnxruntime as ort\n"
        "    return ort.InferenceSession(ort.datasets.get_example('mul_1.onnx')).run(None, {'X': [[x, x]] * 3})[0].sum()\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(2) as pool:\n"
        "        print(*pool.map(work, [1, 2]))\n"
    )
    assert python("-m", "trunnion.as_onnxruntime", script).stdout.split() == ["21.0", "42.0"]


def test_exit_codes_and_errors(python, tmp_path):
    def run(*arguments):
        return python("-m", "trunnion.as_onnxruntime", *arguments, check=False)

    assert run("-c", "raise SystemExit(3)").returncode == 3
    failed = run("-c", "1 / 0")
    assert failed.returncode == 1 and "ZeroDivisionError" in failed.stderr
    assert run("--help").returncode == 0 and "SCRIPT" in run("--help").stdout
    for arguments in ((), ("-m",), ("-x",), (tmp_path / "no.py",)):
        done = run(*arguments)
        assert done.returncode == 2 and done.stderr.strip()


def test_another_onnxruntime_is_imported_already(python, tmp_path):
    (tmp_path / "onnxruntime").mkdir()
    (tmp_path / "onnxruntime" / "__init__.py").write_text("")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import onnxruntime, trunnion.as_onnxruntime as a\n"
        "try: a.install()\n"
        "except RuntimeError as error: print(error)\n"
    )
    assert "onnxruntime is imported already, from" in python(code=code).stdout


def test_it_wins_over_an_installed_one(python, tmp_path):
    (tmp_path / "onnxruntime").mkdir()
    (tmp_path / "onnxruntime" / "__init__.py").write_text("__version__ = 'other'")
    done = python("-m", "trunnion.as_onnxruntime", "-c", "import onnxruntime; print(onnxruntime.__version__)",
                  PYTHONPATH=path_with(tmp_path))  # fmt: skip
    assert done.stdout.strip() == "1.32.0"


def test_installed_package(tmp_path):
    """The package is left as it is; the link to its library goes into the user's cache."""
    import shutil

    import trunnion
    from trunnion import _native

    source, target = os.path.dirname(os.path.abspath(trunnion.__file__)), tmp_path / "lib" / "trunnion"
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("libonnxruntime*", "__pycache__"))
    before = sorted(target.rglob("*.so*"))
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "lib"), "XDG_CACHE_HOME": str(tmp_path / "cache"),
           "TRUNNION_LIBRARY": _native.library_path()}  # fmt: skip
    command = [sys.executable, "-m", "trunnion.as_onnxruntime", "-c", PROGRAM]
    for _ in range(2):
        done = subprocess.run(command, env=env, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
        facts(done)
    assert sorted(target.rglob("*.so*")) == before
    assert len(list((tmp_path / "cache" / "trunnion").iterdir())) == 1

    env["XDG_CACHE_HOME"] = "/proc/nowhere"  # no cache either: all but the file of the library is there
    done = subprocess.run(
        [*command[:-1], "import onnxruntime; print(onnxruntime.__version__)"], env=env, text=True, capture_output=True
    )
    assert done.stdout.strip() == "1.32.0", done.stderr


def test_parts_that_are_not_here(python):
    code = (
        "import onnxruntime as ort, trunnion\n"
        "for name in ('quantization', 'tools', 'transformers'):\n"
        "    try: __import__('onnxruntime.' + name)\n"
        "    except ModuleNotFoundError as error: print(error.name, '|', error)\n"
        "for module in (ort, trunnion):\n"
        "    for name in ('AdapterFormat', 'ModelCompiler', 'nonsense'):\n"
        "        try: getattr(module, name)\n"
        "        except AttributeError as error: print(error)\n"
    )
    lines = python("-m", "trunnion.as_onnxruntime", "-c", code).stdout.splitlines()
    assert lines[0].startswith("onnxruntime.quantization | onnxruntime.quantization is no part of trunnion")
    assert [line.split()[0] for line in lines[1:3]] == ["onnxruntime.tools", "onnxruntime.transformers"]
    assert lines[3:6] == lines[6:] == [
        "trunnion has no AdapterFormat: ways to write adapter files are a part of onnxruntime that is not here",
        "trunnion has no ModelCompiler: compiled models are a part of onnxruntime that is not here",
        "module 'trunnion' has no attribute 'nonsense'",
    ]


def test_backend_under_its_names(python):
    code = (
        "import onnxruntime.backend as b\n"
        "from onnxruntime.backend.backend import OnnxRuntimeBackend\n"
        "from onnxruntime.backend.backend_rep import OnnxRuntimeBackendRep\n"
        "from onnxruntime.datasets import get_example\n"
        "made = b.prepare(get_example('mul_1.onnx'), 'CPU')\n"
        "assert isinstance(made, OnnxRuntimeBackendRep) and b.prepare == OnnxRuntimeBackend.prepare\n"
        "print(made.run([[[1, 2]] * 3])[0].tolist())\n"
    )
    assert python("-m", "trunnion.as_onnxruntime", "-c", code).stdout.strip() == "[[1.0, 4.0], [3.0, 8.0], [5.0, 12.0]]"


def test_errors_of_programs_show_the_programs_frames(python, tmp_path):
    (tmp_path / "program.py").write_text("def f():\n    raise KeyError('k')\n\n\nf()\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/__main__.py").write_text("raise KeyError('k')\n")
    for name in ("program.py", "folder"):
        done = python("-m", "trunnion.as_onnxruntime", tmp_path / name, check=False)
        assert done.returncode == 1 and "KeyError: 'k'" in done.stderr
        frames = [line for line in done.stderr.splitlines() if line.startswith("  File ")]
        assert frames and all(str(tmp_path) in frame for frame in frames), done.stderr
