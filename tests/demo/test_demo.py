"""The shipped picture is read: on trunnion alone, and right in nearly every line."""
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


def test_picture_is_small():
    assert (ROOT / "demo/picture.png").stat().st_size < 300_000
