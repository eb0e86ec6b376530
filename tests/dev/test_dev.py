"""The script's own parts: what it says, when it installs, and how it sums up."""
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/dev"))

import packages  # noqa: E402
import steps  # noqa: E402
import verbs  # noqa: E402


def dev(*arguments):
    return subprocess.run([sys.executable, ROOT / "dev", *arguments], capture_output=True, text=True)


def test_help_names_every_verb():
    text = dev("help").stdout
    for name in dir(verbs):
        if name.startswith("verb_"):
            assert f"\n  {name[5:]} " in text
    assert dev().stdout == text


def test_help_into_a_pipe_that_ends():
    done = subprocess.run(f"{sys.executable} {ROOT}/dev help | true", shell=True, capture_output=True, text=True)
    assert done.stderr == ""


def test_measured_paths_are_the_users(monkeypatch, tmp_path):
    ran = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(verbs, "build", lambda *_: None)
    monkeypatch.setattr(steps, "stream", lambda command, folder=ROOT: ran.append((command[2:], folder)) or (0, []))
    assert verbs.verb_bench(["a.onnx", "b.onnx", "--json"]) == 0
    assert ran == [(["a.onnx", "b.onnx", "--json"], tmp_path)]


@pytest.mark.parametrize("arguments, code", [(["nonsense"], 2), (["where"], 1), (["clean", "x"], 1), (["test", "x"], 1)])
def test_bad_usage_is_one_line(arguments, code):
    done = dev(*arguments)
    assert done.returncode == code and done.stderr.startswith("dev: ") and done.stderr.count("\n") == 1


def test_where_prints_nothing_but_the_path():
    assert dev("where", "lib").stdout == f"{ROOT}/build/release/libonnxruntime.so.1\n"


def test_missing_packages_are_named_without_root(monkeypatch):
    monkeypatch.setattr(packages, "known_to_dpkg", lambda names: {"g++"})
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(steps.Failed) as failure:
        packages.ensure({"g++": "no-such-command", "libnone-dev": "none/none.h", "nonesuch": "no-such-command"})
    assert "libnone-dev nonesuch\n" in str(failure.value)
    assert str(failure.value).endswith("apt-get install -y --no-install-recommends libnone-dev nonesuch")


def test_present_packages_cost_no_installation(monkeypatch):
    monkeypatch.setattr(packages, "known_to_dpkg", lambda names: set())
    monkeypatch.setattr(steps, "run", lambda *_: pytest.fail("nothing is to be installed"))
    packages.ensure({"some-shell": "sh"})


def test_optional_packages_that_are_missing_are_named_and_no_failure(monkeypatch, capsys):
    monkeypatch.setattr(packages.os, "geteuid", lambda: 1000)
    assert not packages.ensure({"some-shell": "sh"}, optional={"libnone-dev": "none/none.h"})
    assert "libnone-dev" in capsys.readouterr().err
    with pytest.raises(steps.Failed, match="libgone-dev libnone-dev"):
        packages.ensure({"libgone-dev": "gone/gone.h"}, optional={"libnone-dev": "none/none.h"})


@pytest.mark.parametrize(
    "line, counts",
    [
        ("100% tests passed, 0 tests failed out of 14", (14, 0, 0)),
        ("85% tests passed, 2 tests failed out of 14", (12, 2, 0)),
        ("=== 3 failed, 120 passed, 4 skipped in 9.12s ===", (120, 3, 4)),
        ("120 passed in 9.12s", (120, 0, 0)),
        ("1 passed, 2 errors in 0.10s", (1, 2, 0)),
        ("checks: 6 passed, 0 failed, 0 skipped", (6, 0, 0)),
    ],
)
def test_closing_lines(line, counts):
    assert verbs.closing_line(["5 things", line, "", "Total Test time (real) =   0.12 sec"])[1] == counts


def test_stamps(monkeypatch, tmp_path):
    monkeypatch.setattr(steps, "STAMPS", tmp_path / "stamps")
    source = tmp_path / "a.txt"
    source.write_text("1")
    steps.set_done("step", steps.fingerprint(source, 7))
    assert steps.is_done("step", steps.fingerprint(source, 7))
    source.write_text("2")
    assert not steps.is_done("step", steps.fingerprint(source, 7))
    assert not steps.is_done("other", steps.fingerprint(source, 7))


def test_a_failing_step_shows_its_first_error(monkeypatch, tmp_path):
    monkeypatch.setattr(steps, "LOGS", tmp_path)
    script = "for i in $(seq 100); do echo line $i; done; echo 'a.cc:1: error: bad'; exit 3"
    with pytest.raises(steps.Failed) as failure:
        steps.run("a step", ["bash", "-c", script])
    assert str(failure.value).startswith("a.cc:1: error: bad\na step failed after ")
    assert str(tmp_path / "a_step.log") in str(failure.value)
