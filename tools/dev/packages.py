"""The Debian packages that the project needs, and how they come onto the machine."""
import os
import pathlib
import shutil
import subprocess

import steps

# What shows that a package's content is there although Debian's package manager does not know of it:
# a command, a header, or (python:) an interpreter that can make environments and has its headers.
BUILD = {
    "g++": "g++",
    "cmake": "cmake",
    "ninja-build": "ninja",
    "libhwy-dev": "hwy/highway.h",
    "libfmt-dev": "fmt/format.h",
    "nlohmann-json3-dev": "nlohmann/json.hpp",
    "libcli11-dev": "CLI/CLI.hpp",
    "libgtest-dev": "gtest/gtest.h",
    "libstb-dev": "stb/stb_image.h",
}
PYTHON = {"python3-venv": "python:", "python3-dev": "python:"}
CHECK = {"clang-format": "clang-format-14"}
BENCH = {"libbenchmark-dev": "benchmark/benchmark.h"}
INCLUDES = (pathlib.Path("/usr/include"), pathlib.Path("/usr/local/include"))


def known_to_dpkg(names: list) -> set:
    if not shutil.which("dpkg-query"):
        return set()
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n", *names]
    lines = subprocess.run(query, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[1] for line in lines if line.startswith("installed ")}


def is_there(probe: str) -> bool:
    if probe == "python:":
        import environment  # it in turn asks for packages

        return environment.find_interpreter() is not None
    if probe.endswith((".h", ".hpp")):
        return any((folder / probe).exists() for folder in INCLUDES)
    return shutil.which(probe) is not None


def missing(wanted: dict) -> list:
    present = known_to_dpkg(list(wanted))
    return [name for name, probe in wanted.items() if name not in present and not is_there(probe)]


def ensure(*groups: dict) -> None:
    """Installs what is missing, or says exactly what to install."""
    wanted = {name: probe for group in groups for name, probe in group.items()}
    names = missing(wanted)
    if not names:
        return
    install = f"apt-get install -y --no-install-recommends {' '.join(names)}"
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise steps.Failed(f"these Debian packages are missing: {' '.join(names)}\nas root: {install}")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    steps.run("update package lists", ["apt-get", "-o", "Acquire::Retries=3", "update"], quiet)
    steps.run(f"install {len(names)} Debian packages", install.split(), quiet)
