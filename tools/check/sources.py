"""What the checks share: walking the tree, C++ text without comments and strings, and the form of a finding."""
import pathlib
import re
from typing import Iterator, NamedTuple

CPP = (".h", ".hpp", ".cc", ".inc")
SKIPPED = {".git", ".cache", "dist", "__pycache__", ".pytest_cache", "_skbuild"}


class Finding(NamedTuple):
    path: pathlib.Path  # relative to the root
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


def walk(root: pathlib.Path, folder: str, suffixes: tuple = ()) -> Iterator[pathlib.Path]:
    """Files under root/folder in a stable order, as paths relative to root; build outputs are left out."""
    top = root / folder
    if top.is_file():
        yield top.relative_to(root)
        return
    if not top.is_dir():
        return
    for entry in sorted(top.iterdir()):
        if entry.name in SKIPPED or (entry.is_dir() and entry.name.startswith("build")):
            continue
        relative = entry.relative_to(root)
        if entry.is_dir():
            yield from walk(root, str(relative), suffixes)
        elif not suffixes or entry.suffix in suffixes:
            yield relative


_TOKEN = re.compile(
    r'R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"'  # raw string
    r"|//[^\n]*(?:\\\n[^\n]*)*"
    r"|/\*.*?\*/"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'",  # a character; not the separator of 1'000
    re.DOTALL,
)


def code_only(text: str) -> str:
    """C++ text with comments and the contents of literals blanked; lines and columns stay where they are."""

    def blank(match: re.Match) -> str:
        return re.sub(r"[^\n]", " ", match.group())

    # An include's name looks like a string; keep those lines whole.
    kept = {}

    def keep(match: re.Match) -> str:
        kept[match.start()] = match.group()
        return match.group()

    re.sub(r'^[ \t]*#[ \t]*include[ \t]*"[^"\n]*"', keep, text, flags=re.MULTILINE)
    blanked = _TOKEN.sub(blank, text)
    for start, original in kept.items():
        # Inside a block comment or raw string the blanked form has lost its '#': leave it blank.
        if blanked[start : start + len(original)].lstrip().startswith("#"):
            blanked = blanked[:start] + original + blanked[start + len(original) :]
    return blanked


def is_test(path: pathlib.Path) -> bool:
    return path.stem.endswith("_test") or path.name.startswith("test_")


def read(root: pathlib.Path, path: pathlib.Path) -> str:
    return (root / path).read_text(encoding="utf-8", errors="replace")


def rows(path: pathlib.Path) -> Iterator[tuple]:
    """(line number, text) of a rule file, without comments and empty lines."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = line.split("#", 1)[0].strip()
        if line:
            yield number, line
