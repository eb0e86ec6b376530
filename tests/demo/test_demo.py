"""The shipped picture is read: on trunnion alone, and right in nearly every line."""
import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))


@pytest.fixture(scope="module")
def shown(tmp_path_factory) -> tuple:
    """(what the demo printed, the annotated picture's path)"""
    target = tmp_path_factory.mktemp("demo") / "annotated.png"
    command = [sys.executable, ROOT / "demo/ocr_demo.py", "--output", target]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, target


def letters(text: str) -> str:
    return "".join(text.lower().split()).replace("0", "o")


def test_most_lines_are_found(shown):
    make_picture = pytest.importorskip("make_picture")
    expected = [line[0] for line in make_picture.LINES] + [make_picture.STICKER[0]]
    rows = re.findall(r"^ *\d+ +(\d\.\d{3})  (.+)$", shown[0], re.MULTILINE)
    found = {letters(text): float(confidence) for confidence, text in rows}
    right = [text for text in expected if letters(text) in found]
    assert len(right) >= len(expected) - 1, f"found {sorted(found)}"
    assert all(0.5 <= confidence <= 1 for confidence in found.values())
    assert letters("THIS SIDE UP") in found  # it lies upside down: the orientation model turned it


def test_models_are_measured_and_placed(shown):
    for model in ("_det_", "_cls_", "_rec_"):
        assert model in shown[0]
    assert shown[0].count("CPUExecutionProvider") >= 3
    assert shown[0].count("MiB") >= 3


def test_annotated_picture(shown):
    image = pytest.importorskip("PIL.Image")
    with image.open(shown[1]) as annotated, image.open(ROOT / "demo/picture.png") as picture:
        assert annotated.width > picture.width and annotated.height >= picture.height


@pytest.mark.parametrize("content", [None, b"no picture"])
def test_a_bad_picture_is_one_line(tmp_path, content):
    picture = tmp_path / "picture.png"
    if content is not None:
        picture.write_bytes(content)
    done = subprocess.run([sys.executable, ROOT / "demo/ocr_demo.py", picture], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and str(picture) in done.stderr


def test_no_file_with_a_picture_is_one_line(tmp_path):
    done = subprocess.run([sys.executable, ROOT / "demo/ocr_demo.py", tmp_path], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, f"{tmp_path}: a file with a picture is needed\n")


def test_a_picture_that_the_reader_refuses_is_one_line(tmp_path):
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("rapidocr_onnxruntime")
    image.new("RGB", (20000, 10), "white").save(tmp_path / "wide.png")
    done = subprocess.run([sys.executable, ROOT / "demo/ocr_demo.py", tmp_path / "wide.png"], capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert f"{tmp_path}/wide.png: rapidocr-onnxruntime cannot read it: " in done.stderr.splitlines()[-1]


def test_names_of_annotated_pictures():
    ocr_demo = pytest.importorskip("ocr_demo")
    names = [ocr_demo.annotated_name(pathlib.Path("p") / name) for name in ("own.png", "own.webp", "own.PNG", "own")]
    assert names == ["own-annotated.png", "own-webp-annotated.png", "own-annotated.png", "own-annotated.png"]


def test_several_models_are_measured_where_the_user_is(tmp_path):
    trunnion = pytest.importorskip("trunnion")
    for name in ("mul_1.onnx", "sigmoid.onnx"):
        (tmp_path / name).write_bytes(pathlib.Path(trunnion.datasets.get_example(name)).read_bytes())
    command = [sys.executable, ROOT / "demo/measure.py", "mul_1.onnx", "sigmoid.onnx", "none.onnx", "--seconds", "0.01", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert [json.loads(line)["model"] for line in done.stdout.splitlines()] == ["mul_1.onnx", "sigmoid.onnx"]
    assert done.returncode == 1 and "none.onnx" in done.stderr


def test_picture_is_small():
    assert (ROOT / "demo/picture.png").stat().st_size < 300_000
