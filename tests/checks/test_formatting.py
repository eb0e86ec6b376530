"""Files that clang-format would change are found, once each."""
import formatting
import pytest

pytestmark = pytest.mark.skipif(not formatting.find_tool(), reason="needs clang-format 14")


def test_formatted(tree):
    tree.write("src/base/a.cc", "int f(int x) { return x; }\n")
    assert tree.found(formatting.check) == []


def test_not_formatted(tree):
    tree.write("src/base/a.cc", "// A.\nint  f( int x ){return x;}\nint   g;\n")
    assert tree.found(formatting.check) == [("src/base/a.cc", 2, "not formatted: ./dev format")]


def test_write_makes_the_check_pass(tree):
    tree.write("src/base/a.cc", "int  f( int x ){return x;}\n")
    assert formatting.write(tree.root) == 2
    assert tree.found(formatting.check) == []
