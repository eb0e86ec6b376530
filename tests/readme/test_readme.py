"""The first page tells the truth: its programs run as printed, and give what it shows."""
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LIBRARY = ROOT / "build/release/libonnxruntime.so.1"
PROGRAM = ROOT / "build/release/trunnion"
SCORES = re.compile(r"upright 0\.50\d, upside down 0\.49\d")


def block(language: str) -> str:
    return re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)[1]


@pytest.fixture
def folder(tmp_path):
    """A folder that holds model.onnx, as the page says."""
    package = importlib.util.find_spec("rapidocr_onnxruntime")
    if package is None:
        pytest.skip("the demo's packages are not installed")
    models = pathlib.Path(package.origin).parent / "models"
    shutil.copy(next(models.glob("*cls*.onnx")), tmp_path / "model.onnx")
    return tmp_path


def test_python(folder):
    (folder / "example.py").write_text(block("python"), encoding="utf-8")
    done = subprocess.run([sys.executable, "example.py"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert SCORES.search(done.stdout)
    assert without_counts(done.stdout) == without_counts(block("text"))


@pytest.mark.skipif(not shutil.which("g++") or not LIBRARY.exists(), reason="needs g++ and the built library")
def test_cpp(folder):
    (folder / "example.cc").write_text(block("cpp"), encoding="utf-8")
    line = re.search(r"^g\+\+ .*$", README, re.MULTILINE)[0].replace("$PWD", str(ROOT))
    line = line.replace("example.cc", str(folder / "example.cc")).replace("-o example", f"-o {folder / 'example'}")
    built = subprocess.run(line.split() + ["-Wall", "-Werror"], cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([folder / "example"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and SCORES.fullmatch(done.stdout.strip()), done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("g++") or not LIBRARY.exists(), reason="needs g++ and the built library")
@pytest.mark.parametrize("name", ["hello.c", "hello.cpp"])
def test_examples(folder, name):
    """Their first lines say how to compile and run them, on this page's model."""
    source = (ROOT / "examples" / name).read_text(encoding="utf-8")
    compile_, run = (line.lstrip(" */").replace("$PWD", str(ROOT)) for line in source.splitlines()[1:3])
    assert compile_.startswith(("cc examples/", "c++ ")) and run.startswith("./hello model.onnx 1 3 48 192")
    line = compile_.replace("-o hello", f"-o {folder / 'hello'}")
    built = subprocess.run(line.split() + ["-Wall", "-Werror"], cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    done = subprocess.run(run.split(), cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and re.fullmatch(r"\S+: 0\.\d+ 0\.\d+ *", done.stdout.strip()), done.stdout + done.stderr
    wrong = subprocess.run(run.split()[:-2], cwd=folder, capture_output=True, text=True)
    assert wrong.returncode != 0 and wrong.stderr.count("\n") == 1


@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
def test_first_operator_compiles(tmp_path):
    text = (ROOT / "docs/adding_an_operator.md").read_text(encoding="utf-8")
    (tmp_path / "cube.cc").write_text(re.search(r"```cpp\n(.*?)```", text, re.DOTALL)[1], encoding="utf-8")
    command = ["g++", "-std=c++20", "-fsyntax-only", "-fno-exceptions", "-fno-rtti", f"-I{ROOT}/src", tmp_path / "cube.cc"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not PROGRAM.exists(), reason="needs the built command line")
def test_command_line(folder):
    shown = re.split(r"^\$ trunnion (.*)\n", block("console"), flags=re.MULTILINE)[1:]
    assert len(shown) >= 4
    for line, expected in zip(shown[::2], shown[1::2]):
        done = subprocess.run([PROGRAM, *line.split()], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert without_measures(done.stdout) == without_measures(expected)


def without_counts(text: str) -> str:
    return re.sub(r"\d+ nodes", "nodes", text)


def without_measures(text: str) -> list:
    """Lines, without those that tell times, memory and what fusion left; results to three digits."""
    kept = [line for line in text.splitlines() if not re.match(r"load |peak memory |\d+ nodes: ", line)]
    return [re.sub(r"(\d\.\d{3})\d+", r"\1", line) for line in kept]


def test_every_link_and_verb_exists():
    for page in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/differences.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
            assert (ROOT / page).parent.joinpath(target).exists(), f"{page} links to {target}"
    shown = subprocess.run([sys.executable, ROOT / "dev", "help"], capture_output=True, text=True)
    verbs = set(re.findall(r"^  ([a-z]+) ", shown.stdout, re.MULTILINE))
    used = set(re.findall(r"\./dev ([a-z]+)", README))
    assert used and used <= verbs
