#!/usr/bin/env python3
"""Proves that include/trunnion/ort_abi.h and a published ONNX Runtime header describe the same binary interface.

Both are compiled with the same generated program, which asserts the type of every function and callback and prints
every offset, size and constant; the two outputs must be equal. The header comes from TRUNNION_ORT_HEADER_DIR, or is the
one that `./dev clients cpp` fetched, or that of the Go module below: out of the module cache, or downloaded when --fetch
is given. Exit status 77: no header, skipped.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULE = "github.com/yalue/onnxruntime_go"
MODULE_VERSION = "v1.27.0"  # carries the headers of API 24


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def header_dir():
    if given := os.environ.get("TRUNNION_ORT_HEADER_DIR"):
        return pathlib.Path(given)
    if (fetched := ROOT / "build/clients/cpp/headers").is_dir():
        return fetched
    try:
        cache = subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        skip("no Go tool to get the header package with; set TRUNNION_ORT_HEADER_DIR")
    found = pathlib.Path(cache, f"{MODULE}@{MODULE_VERSION}")
    if found.is_dir():
        return found
    if "--fetch" not in sys.argv:
        skip(f"{MODULE}@{MODULE_VERSION} is not in the module cache; run with --fetch to download it")
    with tempfile.TemporaryDirectory() as scratch:
        got = subprocess.run(["go", "mod", "download", "-json", f"{MODULE}@{MODULE_VERSION}"], cwd=scratch,
                             capture_output=True, text=True)
    if got.returncode:
        skip(f"{MODULE}@{MODULE_VERSION} cannot be downloaded")
    return pathlib.Path(json.loads(got.stdout)["Dir"])


def run_probe(source, header, includes, work):
    binary = work / "probe"
    compile_ = subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-w", *(f"-I{i}" for i in includes),
                               f'-DHEADER_UNDER_TEST="{header}"', str(source), "-o", str(binary)],
                              capture_output=True, text=True)
    if compile_.returncode:
        print(compile_.stderr[-6000:])
        sys.exit(f"the probe does not compile against {header}")
    return subprocess.run([binary], capture_output=True, text=True, check=True).stdout.splitlines()


def main():
    genuine = header_dir()
    main_header = genuine / "onnxruntime_c_api.h"
    if not main_header.is_file():
        skip(f"{genuine} has no onnxruntime_c_api.h")
    text = "".join(p.read_text() for p in sorted(genuine.glob("onnxruntime*_c_api.h")) if "experimental" not in p.name)
    version = int(re.search(r"#define ORT_API_VERSION (\d+)", text)[1])
    with tempfile.TemporaryDirectory() as scratch:
        work = pathlib.Path(scratch)
        joined = work / "genuine.txt"
        joined.write_text(text)
        source = work / "probe.c"
        source.write_text(subprocess.run([sys.executable, ROOT / "tools/gen/ort_abi.py", "--probe", str(version), joined],
                                         capture_output=True, text=True, check=True).stdout)
        theirs = run_probe(source, "onnxruntime_c_api.h", [genuine], work)
        ours = run_probe(source, "trunnion/ort_abi.h", [ROOT / "include"], work)
        asserts = source.read_text().count("_Static_assert")
    different = [f"{a}  |  {b}" for a, b in zip(ours, theirs) if a != b]
    print(f"API {version}: {len(ours)} offsets and constants, {asserts} function types compared")
    if different or len(ours) != len(theirs) or len(ours) < 500:
        sys.exit("ours | theirs\n" + "\n".join(different))


if __name__ == "__main__":
    main()
