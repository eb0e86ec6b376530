"""The conformance suite itself: that it is right about the CPU, and that it sees what is wrong."""
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("onnx")
CTS = pathlib.Path(__file__).resolve().parent / "cts.py"


def run(*arguments):
    done = subprocess.run([sys.executable, str(CTS), *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_the_cpu_passes():
    code, text = run("--nodes", "20")
    assert code == 0, text
    assert "node: 20 ok" in text and "partition: 12 ok" in text


def test_a_list_names_every_group():
    code, text = run("--list", "--nodes", "2")
    assert code == 0
    assert {line.split("/")[0] for line in text.split("\n") if line} == {
        "partition", "control flow", "dynamic", "errors", "concurrency", "life", "node"}


def test_a_plugin_that_is_none(tmp_path):
    library = tmp_path / "libnothing.so"
    library.write_text("no library")
    code, text = run(str(library), "--nodes", "0")
    assert code == 2
    assert "cannot begin" in text and "libnothing.so" in text


def test_wrong_results_are_found():
    import numpy as np
    from host import Wrong, compare

    with pytest.raises(Wrong, match="off by 0.5"):
        compare(np.float32([1, 2.5]), np.float32([1, 2]), 1e-3)
    with pytest.raises(Wrong, match="shape"):
        compare(np.zeros((2, 1)), np.zeros(2), 1e-3)
    with pytest.raises(Wrong, match="NaN"):
        compare(np.float32([np.nan]), np.float32([1]), 1e-3)
