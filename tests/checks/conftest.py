"""A small tree that satisfies every check; each test breaks one thing in it."""
import pathlib
import shutil
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/check"))

ROOM_README = "# A room\nWhat lives here.\n"


class Tree:
    def __init__(self, root: pathlib.Path):
        self.root = root

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def found(self, check) -> list:
        """The findings as (path, line, reason)."""
        return [(str(f.path), f.line, f.reason) for f in check(self.root)]


@pytest.fixture
def tree(tmp_path) -> Tree:
    tree = Tree(tmp_path)
    for path in ("tools/check/layers.txt", "cmake/isa.cmake", ".clang-format"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    tree.write("tools/README.md", "# Tools\n")
    tree.write("tools/check/sizes.txt", "room base 100\n")
    tree.write("tools/check/words.txt", "catch src/base/pool.cc a task may throw\n")
    tree.write("src/base/README.md", ROOM_README)
    tree.write("src/base/clock.h", "// Time.\n#pragma once\n#include <cstdint>\nnamespace trunnion {}\n")
    return tree
