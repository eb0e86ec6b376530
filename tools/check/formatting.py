"""C++ is laid out as .clang-format says, by clang-format 14: other versions disagree with it in places."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess

from sources import Finding, walk

VERSION = "14"
FOLDERS = ("src", "include", "cli", "bindings", "bench", "examples", "tests")
MESSAGE = re.compile(r"^(?P<path>.+?):(?P<line>\d+):\d+: error: code should be clang-formatted")
BATCH = 16


def find_tool() -> str:
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path and f"version {VERSION}." in subprocess.run([path, "--version"], capture_output=True, text=True).stdout:
            return path
    return ""


def cpp_files(root: pathlib.Path) -> list:
    return [path for folder in FOLDERS for path in walk(root, folder, (".h", ".hpp", ".c", ".cc", ".cpp"))]


def run(root: pathlib.Path, arguments: list) -> list:
    """clang-format over all files, some at a time on every core; the lines it wrote to stderr."""
    tool, files = find_tool(), cpp_files(root)
    batches = [files[start : start + BATCH] for start in range(0, len(files), BATCH)]

    def one(batch: list) -> list:
        command = [tool, *arguments, *map(str, batch)]
        return subprocess.run(command, cwd=root, capture_output=True, text=True).stderr.splitlines()

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [line for lines in pool.map(one, batches) for line in lines]


def check(root: pathlib.Path):
    if not find_tool():
        return f"no clang-format {VERSION}"
    findings, seen = [], set()
    for line in run(root, ["--dry-run", "--Werror", "--style=file"]):
        match = MESSAGE.match(line)
        if match and match["path"] not in seen:  # one line a file is enough: the cure is ./dev format
            seen.add(match["path"])
            findings.append(Finding(pathlib.Path(match["path"]), int(match["line"]), "not formatted: ./dev format"))
    return findings


def write(root: pathlib.Path) -> int:
    """Formats all files in place; their number."""
    run(root, ["-i", "--style=file"])
    return len(cpp_files(root))
