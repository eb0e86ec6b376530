"""The Debian packages that the project needs, and how they come onto the machine."""
import os
import pathlib
import platform
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
# libtrunnion_extras.so: a build without one of them leaves its part out.
EXTRAS = {
    "libre2-dev": "re2/re2.h",
    "libjpeg-dev": "jpeglib.h",
    "libpng-dev": "png.h",
    "libwebp-dev": "webp/demux.h",
    "libtiff-dev": "tiffio.h",
    "libopenjp2-7-dev": "openjpeg-2.5/openjpeg.h",
}
PYTHON = {"python3-venv": "python:", "python3-dev": "python:"}
CHECK = {"clang-format": "clang-format-14"}
MEMCHECK = {"valgrind": "valgrind"}
BENCH = {"libbenchmark-dev": "benchmark/benchmark.h"}
INCLUDES = tuple(map(pathlib.Path, ("/usr/include", f"/usr/include/{platform.machine()}-linux-gnu", "/usr/local/include")))


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


def ensure(*groups: dict, optional: dict | None = None) -> bool:
    """Installs what is missing, or says exactly what to install; without the optional packages it goes on. True when
    something was installed."""
    wanted = {name: probe for group in groups for name, probe in group.items()}
    needed, useful = missing(wanted), missing(optional or {})
    if not needed and not useful:
        return False
    install = f"apt-get install -y --no-install-recommends {' '.join(needed + useful)}"
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        if needed:
            raise steps.Failed(f"these Debian packages are missing: {' '.join(needed + useful)}\nas root: {install}")
        steps.say(f"goes on without what these Debian packages bring: {' '.join(useful)}; as root: {install}")
        return False
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        steps.run("update package lists", ["apt-get", "-o", "Acquire::Retries=3", "update"], quiet)
        steps.run(f"install {len(needed + useful)} Debian packages", install.split(), quiet)
    except steps.Failed:
        if missing(wanted):
            raise
        steps.say(f"goes on without what these Debian packages bring, they could not be installed: {' '.join(useful)}")
        return False
    return True
