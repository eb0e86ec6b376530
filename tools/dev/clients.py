"""./dev clients: small programs (tests/clients) over ONNX Runtime's bindings for other languages, run on our library.

Every binding comes unchanged from its registry; what it brings of ONNX Runtime is passed by, and each program proves
that the process has loaded our library and no other. A client whose tool or registry is missing is skipped by name.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import packages
import steps
from paths import BUILD, LIBRARY, PYTHON, ROOT

SOURCES = ROOT / "tests/clients"
HOME = BUILD / "clients"
LINKS = HOME / "library"  # our library under the names that bindings look for
MODELS = HOME / "models"
PATIENCE = ["timeout", "--kill-after=10"]  # a registry that never answers ends in a skip
INSTALL_S, RUN_S = 600, 120

NODE = ("1.30.0", "1.18.0")
JAVA = "1.29.0"
# The npm package that has the C and C++ headers: those of ONNX Runtime 1.29, beside its library for a phone.
HEADERS = "com.github.asus4.onnxruntime@0.4.9"

# What a binding has no function for.
NO_METADATA = {f"metadata.{key}" for key in ("producer", "graph", "domain", "description", "version", "custom")}
# onnxruntime-node before 1.21 gives the outputs that were asked for the names of the first ones.
NODE_LACKS = {"1.30.0": NO_METADATA, "1.18.0": NO_METADATA | {"some"}}


class Skip(Exception):
    """The client cannot be tried here; the text says why."""


class Client(NamedTuple):
    title: str
    prepare: Callable  # installs and builds, then gives the command; raises Skip, or Failed when our program is at fault
    lacks: set


def need(*tools: str) -> None:
    for tool in tools:
        if not shutil.which(tool):
            raise Skip(f"there is no {tool} on this machine")


def fetch(title: str, command: list, environment: dict | None = None) -> None:
    """A step that needs a registry."""
    try:
        steps.run(title, [*PATIENCE, INSTALL_S, *command], environment)
    except steps.Failed as failure:
        lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
        errors = [line for line in lines[:-1] if re.search(r"\b(err(or)?|unable|refused|denied|timeout)\b", line, re.IGNORECASE)]
        said = (errors or lines[:-1] or ["it said nothing"])[0]
        raise Skip(f"{title} failed: {said[:200]} (log: {lines[-1].rpartition(': ')[2]})") from None


def is_new(folder, *facts) -> str | None:
    """The mark to set once the folder, which is then emptied, is filled; None when it is filled already."""
    mark = steps.fingerprint(*facts)
    if folder.is_dir() and steps.is_done(f"client-{folder.name}", mark):
        return None
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return mark


def node(version: str) -> list:
    need("node", "npm")
    folder = HOME / f"node-{version}"
    if mark := is_new(folder, version):
        (folder / "package.json").write_text('{"private": true}\n')
        # Scripts would fetch GPU libraries from elsewhere; the CPU's is in the package.
        fetch(f"install onnxruntime-node {version}",
              ["npm", "install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1",
               "--fetch-timeout=60000", f"onnxruntime-node@{version}", f"onnxruntime-common@{version}"])
        steps.set_done(f"client-{folder.name}", mark)
    # Early bindings look in their own folder first, whatever the environment says.
    for bundled in (folder / "node_modules/onnxruntime-node/bin").glob("napi-v*/linux/*/libonnxruntime.so*"):
        bundled.unlink()
        bundled.symlink_to(LIBRARY.resolve())
    shutil.copy(SOURCES / "node/client.js", folder)  # modules are looked for beside the program
    return ["node", folder / "client.js"]


def java() -> list:
    need("mvn", "javac")
    folder = HOME / f"java-{JAVA}"
    jar = folder / f"onnxruntime-{JAVA}.jar"
    if mark := is_new(folder, JAVA):
        fetch(f"install onnxruntime for Java {JAVA}",
              ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact=com.microsoft.onnxruntime:onnxruntime:{JAVA}",
               f"-DoutputDirectory={folder}"])
        steps.set_done(f"client-{folder.name}", mark)
    steps.run("build the Java client", ["javac", "-nowarn", "-cp", jar, "-d", folder / "classes", SOURCES / "java/Client.java"])
    return ["java", "-Xmx512m", f"-Donnxruntime.native.onnxruntime.path={LINKS}/libonnxruntime.so", "-cp",
            f"{folder / 'classes'}:{jar}", "Client"]


def cpp() -> list:
    need("npm", "c++")
    folder = HOME / "cpp"
    headers = folder / "headers"
    if mark := is_new(folder, HEADERS):
        (folder / "package.json").write_text('{"private": true}\n')
        fetch("install the headers of onnxruntime",
              ["npm", "install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", HEADERS])
        packaged = next((folder / "node_modules").rglob("Headers/onnxruntime_cxx_api.h"), None)
        if not packaged:
            raise Skip(f"{HEADERS} has no onnxruntime_cxx_api.h")
        shutil.copytree(packaged.parent, headers)
        shutil.rmtree(folder / "node_modules")  # the libraries for phones are large
        steps.set_done(f"client-{folder.name}", mark)
    environment = {"TRUNNION_ORT_HEADER_DIR": str(headers)}
    steps.run("compare our C header with the genuine one", [sys.executable, ROOT / "tests/abi/layout_test.py"], environment)
    steps.run("run the C++ example over the genuine header",
              [sys.executable, ROOT / "tests/abi/genuine_test.py", LIBRARY], environment)
    steps.run("build the C++ client",
              ["c++", "-std=c++17", "-O1", SOURCES / "cpp/client.cpp", "-o", folder / "client", f"-I{headers}", LIBRARY,
               f"-Wl,-rpath,{LINKS}", "-pthread"])
    return [folder / "client"]


def go() -> list:
    need("go")
    folder = HOME / "go"
    folder.mkdir(parents=True, exist_ok=True)
    for source in (SOURCES / "go").iterdir():
        shutil.copy(source, folder)
    # The Go that is there: another one would be downloaded.
    environment = {"GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": "-mod=readonly", "CGO_ENABLED": "1"}
    fetch("install onnxruntime_go", ["env", "-C", folder, "go", "mod", "download"], environment)
    steps.run("build the Go client", ["env", "-C", folder, "go", "build", "-o", "client", "."], environment)
    return [folder / "client"]


def rust() -> list:
    need("cargo")
    folder = HOME / "rust"
    manifest = SOURCES / "rust/Cargo.toml"
    shutil.copytree(SOURCES / "rust", folder, dirs_exist_ok=True)
    least = re.search(r'rust-version = "(\d+)\.(\d+)', manifest.read_text())
    have = re.search(r"(\d+)\.(\d+)", subprocess.run(["cargo", "--version"], capture_output=True, text=True).stdout)
    if not have or tuple(map(int, have.groups())) < tuple(map(int, least.groups())):
        raise Skip(f"the crate ort needs Rust {least[1]}.{least[2]}, here is {have[0] if have else 'none'}")
    fetch("install the crate ort", ["cargo", "fetch", "--locked", "--manifest-path", folder / "Cargo.toml"])
    steps.run("build the Rust client", ["cargo", "build", "--offline", "--quiet", "--manifest-path", folder / "Cargo.toml"])
    return [folder / "target/debug/client"]


CLIENTS = {
    "node": [Client(f"onnxruntime-node {version}", lambda version=version: node(version), NODE_LACKS[version]) for version in NODE],
    "go": [Client("onnxruntime_go 1.27.0", go, {"concurrent"})],
    "java": [Client(f"onnxruntime for Java {JAVA}", java, {"concurrent"})],
    "rust": [Client("ort 2.0.0-rc.15 (Rust)", rust, {"concurrent", "preallocated"})],
    "cpp": [Client("the C and C++ headers of ONNX Runtime 1.29", cpp, set())],
}
# Debian's packages of the tools; where a tool of that name is there already, none is installed.
TOOLS = {
    "node": {"nodejs": "node", "npm": "npm"},
    "go": {"golang-go": "go"},
    "java": {"default-jdk-headless": "javac", "maven": "mvn"},
    "rust": {"cargo": "cargo"},
    "cpp": {"nodejs": "node", "npm": "npm"},
}


def install_tools(names: list) -> None:
    packages.ensure(optional={package: probe for name in names for package, probe in TOOLS[name].items()})


def check(client: Client, expected: dict) -> int:
    """Runs a client; the number of values that were right. Failed says which were not."""
    command = client.prepare()
    environment = {"LD_LIBRARY_PATH": str(LINKS), "CLIENT_MODELS": str(MODELS), "CLIENT_LIBRARY": str(LINKS / "libonnxruntime.so"),
                   "ORT_DYLIB_PATH": str(LINKS / "libonnxruntime.so")}
    done = subprocess.run([str(word) for word in (*PATIENCE, RUN_S, *command)], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, env=os.environ | environment)
    printed = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    wrong = []
    if done.returncode:
        wrong.append(f"exit status {done.returncode}: {done.stderr[-1500:].strip()}")
    wanted = {"library": str(LIBRARY.resolve())} | {k: v for k, v in expected["values"].items() if k not in client.lacks}
    for key, value in wanted.items():
        if printed.get(key) != value:
            wrong.append(f"{key}: {printed.get(key, 'not printed')}, not {value}")
    for key, part in expected["messages"].items():
        if part not in printed.get(key, ""):
            wrong.append(f"{key}: {printed.get(key, 'not printed')}, without {part!r}")
    if wrong:
        raise steps.Failed("\n".join(wrong))
    return len(wanted) + len(expected["messages"])


def run(names: list) -> int:
    """Runs the named clients over the built library; the exit status."""
    shutil.rmtree(LINKS, ignore_errors=True)
    LINKS.mkdir(parents=True)
    for name in ("libonnxruntime.so", "libonnxruntime.so.1"):
        (LINKS / name).symlink_to(LIBRARY.resolve())
    steps.run("write the models of the clients", [PYTHON, SOURCES / "models.py", MODELS])
    expected = json.loads((MODELS / "expected.json").read_text())
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name in names:
        for client in CLIENTS[name]:
            start = time.monotonic()
            try:
                result, text = "passed", f"{check(client, expected)} values"
            except Skip as skip:
                result, text = "skipped", str(skip)
            except steps.Failed as failure:
                result, text = "failed", f"\n{failure}"
            counts[result] += 1
            print(f"{result:8}{client.title}, {steps.took(start)}: {text}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in counts.items()), flush=True)
    return 1 if counts["failed"] else 0
