"""./dev clients: what is a skip and what a failure. The clients themselves are run by name."""
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/dev"))

import clients  # noqa: E402
import steps  # noqa: E402
import verbs  # noqa: E402

EXPECTED = {"values": {"a": "1 2", "b": "x: y"}, "messages": {"error": "no such"}}


@pytest.fixture
def said(monkeypatch, tmp_path):
    """Makes a client of a shell script, and gives what running it counts."""
    library = tmp_path / "lib.so"
    library.touch()
    monkeypatch.setattr(clients, "LIBRARY", library)

    def run(script, lacks=()):
        text = script.replace("LIBRARY", str(library.resolve()))
        return clients.check(clients.Client("shell", lambda: ["sh", "-c", text], set(lacks)), EXPECTED)

    return run


GOOD = "echo 'a: 1 2'; echo 'b: x: y'; echo 'error: it says no such thing'; echo library: LIBRARY"


def test_what_is_right_is_counted(said):
    assert said(GOOD) == 4
    assert said(GOOD.replace("1 2", "other"), lacks={"a"}) == 3


@pytest.mark.parametrize(
    "change, reason",
    [
        (("a: 1 2", "a: 1 3"), "a: 1 3, not 1 2"),
        (("echo 'a: 1 2'; ", ""), "a: not printed, not 1 2"),
        (("no such", "none"), "without 'no such'"),
        (("LIBRARY", "/usr/lib/libonnxruntime.so"), "library: /usr/lib/libonnxruntime.so, not "),
        (("echo library", "echo oops >&2; exit 3; echo library"), "exit status 3: oops"),
    ],
)
def test_what_is_wrong_is_named(said, change, reason):
    with pytest.raises(steps.Failed, match=reason.replace("(", r"\(")):
        said(GOOD.replace(*change))


def test_a_registry_out_of_reach_is_a_skip():
    with pytest.raises(clients.Skip, match=r"install it failed: npm error code ECONNREFUSED \(log: .*install_it.log\)"):
        clients.fetch("install it", ["sh", "-c", "echo going; echo npm error code ECONNREFUSED; exit 1"])
    with pytest.raises(clients.Skip, match="install it failed: it said nothing"):
        clients.fetch("install it", ["false"])


def test_a_missing_tool_is_a_skip():
    with pytest.raises(clients.Skip, match="there is no no-such-tool on this machine"):
        clients.need("sh", "no-such-tool")


def test_skips_fail_nothing_and_failures_do(monkeypatch, capsys, tmp_path):
    def skip():
        raise clients.Skip("no registry")

    def broken():
        raise steps.Failed("does not compile")

    monkeypatch.setattr(clients, "LINKS", tmp_path / "links")
    monkeypatch.setattr(clients, "MODELS", tmp_path)
    monkeypatch.setattr(steps, "run", lambda *_: None)
    (tmp_path / "expected.json").write_text('{"values": {}, "messages": {}}')
    rows = {"out": [clients.Client("out", skip, set())], "bad": [clients.Client("bad", broken, set())]}
    monkeypatch.setattr(clients, "CLIENTS", rows)
    assert clients.run(["out"]) == 0
    assert "no registry\n0 passed, 0 failed, 1 skipped\n" in capsys.readouterr().out
    assert clients.run(["out", "bad"]) == 1
    assert "does not compile\n0 passed, 1 failed, 1 skipped\n" in capsys.readouterr().out


def test_unknown_clients_are_refused():
    with pytest.raises(steps.Failed, match="no client perl; there are node, go, java, rust"):
        verbs.verb_clients(["node", "perl"])


def test_every_client_has_its_tools():
    assert clients.CLIENTS.keys() == clients.TOOLS.keys()
