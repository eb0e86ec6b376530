"""Static initializers in the library's objects are found; constant initialization is none."""
import shutil
import subprocess

import pytest
import static_init

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")


def build(tree, text: str) -> None:
    tree.write("src/base/a.cc", text)
    target = tree.root / "build/release/CMakeFiles/trn_base.dir/src/base/a.cc.o"
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["g++", "-O1", "-c", str(tree.root / "src/base/a.cc"), "-o", str(target)], check=True)


def test_no_build_is_said(tree):
    assert "build first" in static_init.check(tree.root)


def test_constant_initialization(tree):
    build(tree, "extern const int kTable[];\nconst int kTable[2] = {1, 2};\nint* f() { static int* p = new int; return p; }\n")
    assert tree.found(static_init.check) == []


def test_static_initializer(tree):
    build(tree, "int f();\nint a = f();\n")
    assert [f[0] for f in tree.found(static_init.check)] == ["src/base/a.cc"]
