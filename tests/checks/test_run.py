"""The one entry: findings on lines of their own, a summary, and the exit code."""
import pathlib
import subprocess
import sys

RUN = pathlib.Path(__file__).resolve().parents[2] / "tools/check/run.py"


def run(tree, *arguments):
    return subprocess.run([sys.executable, RUN, "--root", tree.root, *arguments], capture_output=True, text=True)


def test_good_tree(tree):
    result = run(tree, "layers", "words", "sizes")
    assert result.returncode == 0, result.stdout
    assert result.stdout.endswith("checks: 3 passed, 0 failed, 0 skipped\n")


def test_bad_tree(tree):
    tree.write("src/base/a.cc", '#include "run/run.h"\n')
    result = run(tree, "layers", "words")
    assert result.returncode == 1
    assert "src/base/a.cc:1: base may not include run\n" in result.stdout
    assert result.stdout.endswith("checks: 1 passed, 1 failed, 0 skipped\n")


def test_strict_wants_every_check_to_look(tree):
    assert run(tree, "static_init").returncode == 0
    assert run(tree, "--strict", "static_init").returncode == 1


def test_unknown_name(tree):
    result = run(tree, "spelling")
    assert result.returncode == 2 and "unknown check spelling" in result.stderr
