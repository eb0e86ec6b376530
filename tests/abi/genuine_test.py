#!/usr/bin/env python3
"""Compiles examples/genuine.cpp against ONNX Runtime's own C++ header, links it to our library, and runs it.

    genuine_test.py LIBRARY

The header comes from the folder TRUNNION_ORT_HEADER_DIR, or is the one that `./dev clients cpp` fetched. Exit status 77:
there is none, skipped.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def field(number, content):
    """A length-delimited protobuf field; a number becomes a varint one. All are below 128."""
    if isinstance(content, int):
        return bytes([number << 3, content])
    content = content.encode() if isinstance(content, str) else content
    return bytes([number << 3 | 2, len(content)]) + content


def relu():
    """y = Relu(x) over float[2,3]."""
    shape = field(1, field(1, 2)) + field(1, field(1, 3))
    kind = field(1, field(1, 1) + field(2, shape))
    node = field(1, "x") + field(2, "y") + field(4, "Relu")
    graph = field(1, node) + field(2, "g") + field(11, field(1, "x") + field(2, kind)) + field(12, field(1, "y") + field(2, kind))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))


def main():
    library = pathlib.Path(sys.argv[1]).absolute()
    folder = pathlib.Path(os.environ.get("TRUNNION_ORT_HEADER_DIR", ROOT / "build/clients/cpp/headers"))
    if not all((folder / f"onnxruntime_{name}.h").is_file() for name in ("c_api", "cxx_api", "cxx_inline")):
        print("skipped: fetch the header with ./dev clients cpp, or set TRUNNION_ORT_HEADER_DIR to its folder")
        sys.exit(77)
    version = re.search(r"#define ORT_API_VERSION (\d+)", (folder / "onnxruntime_c_api.h").read_text())[1]
    with tempfile.TemporaryDirectory() as scratch:
        work = pathlib.Path(scratch)
        (work / "relu.onnx").write_bytes(relu())
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++17", ROOT / "examples/genuine.cpp", "-o", work / "genuine",
                        f"-I{folder}", library, f"-Wl,-rpath,{library.parent}"], check=True)
        done = subprocess.run([work / "genuine", work / "relu.onnx", "2", "3"], capture_output=True, text=True)
        failed = subprocess.run([work / "genuine", work / "absent.onnx"], capture_output=True, text=True)
    if done.stdout != "y: 1 1 1 1 1 1\n" or done.returncode:
        sys.exit(f"status {done.returncode}: {done.stdout}{done.stderr}")
    if failed.returncode != 1 or "absent.onnx" not in failed.stderr:
        sys.exit(f"a missing file gave {failed.returncode}: {failed.stderr}")
    print(f"API {version}: compiled, ran, failed with a message")


if __name__ == "__main__":
    main()
