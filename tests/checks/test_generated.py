"""Generators that find their output out of date are reported; those that lack a package are said to be unasked."""
import generated


def test_current_and_stale(tree):
    tree.write("tools/gen/good.py", "import sys\nraise SystemExit(sys.argv[1:] != ['--check'])\n")
    tree.write("tools/gen/other.py", "raise SystemExit('wrote something')\n")
    assert tree.found(generated.check) == []
    tree.write("tools/gen/stale.py", "import sys\nprint('a.inc differs')\nraise SystemExit('--check' in sys.argv)\n")
    assert tree.found(generated.check) == [("tools/gen/stale.py", 1, "its output is out of date: a.inc differs")]


def test_missing_package_is_said(tree):
    tree.write("tools/gen/table.py", "import no_such_package  # --check\n")
    assert generated.check(tree.root) == "tools/gen/table.py needs 'no_such_package': ./dev test brings it"
