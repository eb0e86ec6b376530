"""Long files, spent budgets and missing READMEs are found; listed exceptions are not, unless they are stale."""
import sizes


def test_a_good_tree_is_silent(tree):
    assert tree.found(sizes.check) == []


def test_long_file(tree):
    tree.write("src/base/a_test.cc", "\n" * 800)
    assert tree.found(sizes.check) == []
    tree.write("src/base/a_test.cc", "\n" * 801)
    assert tree.found(sizes.check) == [("src/base/a_test.cc", 801, "801 lines, the limit is 800")]


def test_exceptions_with_a_reason(tree):
    tree.write("src/base/table_test.cc", "\n" * 900)
    tree.write("tools/check/sizes.txt", "file src/base/table_test.cc 1000 a generated table\n")
    assert tree.found(sizes.check) == []
    tree.write("src/base/table_test.cc", "\n" * 1001)
    assert [f[:2] for f in tree.found(sizes.check)] == [("src/base/table_test.cc", 1001)]


def test_stale_and_malformed_exceptions(tree):
    tree.write("src/base/small.cc", "\n")
    tree.write("tools/check/sizes.txt", "file src/base/small.cc 1000 was long\nfile src/gone.cc 900 was there\nfile x 1\n")
    assert [f[:2] for f in tree.found(sizes.check)] == [("tools/check/sizes.txt", n) for n in (3, 1, 2)]


def test_room_budget_counts_code_only(tree):
    tree.write("src/base/a_test.cc", "\n" * 500)
    tree.write("src/base/table.inc", "\n" * 500)
    assert tree.found(sizes.check) == []
    tree.write("src/base/a.cc", "\n" * 97)
    assert tree.found(sizes.check) == [("src/base", 1, "101 lines, the room's budget is 100")]


def test_rooms_have_short_readmes(tree):
    tree.write("src/tensor/shape.h", "")
    assert [f[0] for f in tree.found(sizes.check)] == ["src/tensor/README.md"]
    tree.write("src/tensor/README.md", "x\n" * 41)
    assert tree.found(sizes.check) == [("src/tensor/README.md", 41, "41 lines, a room's README has 1 to 40")]
