#!/usr/bin/env python3
"""Installs the library into a folder, moves it, and builds the C example against it: by the CMake packages and by
pkg-config, under our name and under ONNX Runtime's.

    package_test.py BUILD_FOLDER
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(user C)
find_package({package} {version} REQUIRED)
add_executable(hello {source})
target_link_libraries(hello PRIVATE {target})
"""


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(program, **more):
    """Without a model the example says how it is used: it has started, so the library was found."""
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, **more)
    if "usage" not in (done.stdout + done.stderr).lower():
        sys.exit(f"{program}: exit status {done.returncode}\n{done.stdout}{done.stderr}")


def main():
    build = pathlib.Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        run("cmake", "--install", build, "--prefix", folder / "first", "--component", "Unspecified")
        prefix = folder / "moved"  # nothing may depend on where it was installed
        (folder / "first").rename(prefix)
        library = next(prefix.rglob("libonnxruntime.so")).parent
        source = ROOT / "examples/hello.c"

        for package, version, target in (("onnxruntime", "1.20", "onnxruntime::onnxruntime"),
                                         ("trunnion", "", "trunnion::trunnion")):
            project = folder / package
            project.mkdir()
            (project / "CMakeLists.txt").write_text(
                PROJECT.format(package=package, version=version, target=target, source=source))
            run("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
            run("cmake", "--build", project / "build")
            check(project / "build/hello")

        if not shutil.which("pkg-config"):
            print("pkg-config is not installed: its files are left out")
            return
        environment = dict(os.environ, PKG_CONFIG_PATH=str(library / "pkgconfig"))
        for name in ("libonnxruntime", "trunnion"):
            flags = run("pkg-config", "--cflags", "--libs", name, env=environment).split()
            run("cc", source, *flags, "-o", folder / f"hello_{name}")
            check(folder / f"hello_{name}", env=dict(os.environ, LD_LIBRARY_PATH=str(library)))


if __name__ == "__main__":
    main()
