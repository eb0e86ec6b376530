"""An object compiled with ISA flags defines no weak symbol: the linker might hand it to code that runs on any CPU.

Each such file is compiled alone at -O0, where inlining hides nothing, with the flags that cmake/isa.cmake gives it.
"""
import concurrent.futures
import os
import pathlib
import platform
import re
import subprocess
import tempfile

from sources import Finding, walk

BASE_FLAGS = ["-std=c++20", "-O0", "-fPIC", "-march=x86-64-v2", "-Wno-psabi", "-w"]
SET_FLAGS = re.compile(r"set\(TRUNNION_FLAGS_(\w+)\s+([^)]*)\)")


def isa_flags(cmake: pathlib.Path) -> dict:
    """{isa: flags} of the set(TRUNNION_FLAGS_<isa> ...) lines, with references to earlier ones put in."""
    flags = {}
    for name, words in SET_FLAGS.findall(cmake.read_text(encoding="utf-8")):
        flags[name] = []
        for word in words.split():
            reference = re.fullmatch(r"\$\{TRUNNION_FLAGS_(\w+)\}", word)
            flags[name] += flags.get(reference[1], []) if reference else [word]
    return flags


def check(root: pathlib.Path) -> list:
    if platform.machine() not in ("x86_64", "AMD64"):
        return []
    flags = isa_flags(root / "cmake/isa.cmake")
    suffix = re.compile(r"_(" + "|".join(sorted(flags, key=len, reverse=True)) + r")\.cc$")
    jobs = []
    for path in walk(root, "src/kernels", (".cc",)):
        if match := suffix.search(path.name):
            jobs.append((path, flags[match[1]]))
    with tempfile.TemporaryDirectory() as out, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda job: check_one(root, *job, pathlib.Path(out)), jobs)
        return [finding for found in results for finding in found]


def check_one(root: pathlib.Path, path: pathlib.Path, flags: list, out: pathlib.Path) -> list:
    target = out / (str(path).replace("/", "_") + ".o")
    command = [os.environ.get("CXX", "g++"), *BASE_FLAGS, *flags, "-I", str(root / "src"), "-I", str(root / "include")]
    compiled = subprocess.run([*command, "-c", str(root / path), "-o", str(target)], capture_output=True, text=True)
    if compiled.returncode:
        first = next((line for line in compiled.stderr.splitlines() if "error" in line), "no message")
        return [Finding(path, 1, f"does not compile at -O0: {first}")]
    symbols = subprocess.run(["nm", "-C", "--defined-only", str(target)], capture_output=True, text=True, check=True)
    return [
        Finding(path, 1, f"weak symbol in an ISA object: {match[1]}")
        for match in re.finditer(r"^\S* +[WVu] (.+)$", symbols.stdout, re.MULTILINE)
    ]
