"""Words and names that have their place or none: providers in passes, throw, OS headers, vague names, TODO notes."""
import ast
import pathlib
import re

from sources import CPP, Finding, code_only, is_test, read, rows, walk

PROVIDERS = re.compile(
    r"\w*ExecutionProvider\b|\b\w*(cuda|tensorrt|openvino|directml|coreml|nnapi|xnnpack|webgpu|webnn|migraphx|rocm"
    r"|armnn|vitisai|snpe|rknpu|vsinpu|dnnl|qnn)\w*\b|\b(Dml|CANN|ACL)\b",
    re.IGNORECASE,
)
OS_HEADERS = re.compile(
    r"#[ \t]*include[ \t]*<((sys|linux|mach|asm|arpa|netinet)/[^>]+|unistd\.h|fcntl\.h|pthread\.h|sched\.h|dlfcn\.h"
    r"|signal\.h|csignal|poll\.h|dirent\.h|glob\.h|fnmatch\.h|link\.h|malloc\.h|semaphore\.h|spawn\.h|syslog\.h"
    r"|termios\.h|windows\.h|io\.h)>",
    re.IGNORECASE,
)
TERMS = ("common_subexpression",)  # where such a word is part of a term
VAGUE = re.compile(r"util(s|ity|ities)?|helpers?|common|managers?", re.IGNORECASE)
VAGUE_IDENTIFIER = re.compile(r"\b(\w+_)?(utils?|helpers?|managers?)(_\w*)?\b|\b\w*(Utils?|Helpers?|Managers?)(?![a-z])\w*\b")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
BANNER = re.compile(r"^\s*(//|/\*|#)\s*[-=*#~]{8,}")
FOREIGN = {"onnxruntime", "onnx"}
TREE = ("src", "include", "cli", "bindings", "bench", "cmake", "demo", "docs", "examples", "tests", "tools")


def load_exceptions(path: pathlib.Path) -> set:
    return {tuple(line.split(None, 2)[:2]) for _, line in rows(path)}


def check(root: pathlib.Path) -> list:
    exceptions = load_exceptions(root / "tools/check/words.txt")
    findings = []
    for path in walk(root, "src", CPP):
        findings += check_source(root, path, exceptions)
    for folder in TREE:
        for path in walk(root, folder):
            findings += check_name(path)
            if path.suffix in CPP + (".py", ".sh", ".cmake"):
                findings += check_notes(root, path)
    for path in walk(root, "bindings/python", (".py", ".pyi")):
        if not is_test(path) and "tests" not in path.parts:
            findings += check_python_imports(root, path)
    return findings


def check_source(root: pathlib.Path, path: pathlib.Path, exceptions: set) -> list:
    room = path.parts[1]
    text = read(root, path)
    findings = []

    def search(rule: str, pattern, where: str, reason: str) -> None:
        if (rule, str(path)) in exceptions:
            return
        for match in re.finditer(pattern, where):
            line = where.count("\n", 0, match.start()) + 1
            findings.append(Finding(path, line, reason.format(match.group().strip())))

    code = code_only(text)
    if room == "passes":
        search("provider", PROVIDERS, text, "passes speak only ONNX: no execution provider's name ({})")
    if room != "abi" and not is_test(path):
        search("throw", r"\bthrow\b", code, "nothing in src/ throws: return a Status")
        search("catch", r"\bcatch\s*\(", code, "catch stands only in abi/ and at the pool's task boundary")
    search("rtti", r"\b(dynamic_cast|typeid)\b", code, "no RTTI in src/ ({})")
    search("iostream", r"#[ \t]*include[ \t]*<iostream>", code, "no <iostream> in src/: log through a LogSink")
    if not is_test(path) and not (room == "base" and path.name.startswith("os_") and path.suffix == ".cc"):
        search("os", OS_HEADERS, code, "operating-system headers only in src/base/os_*.cc ({})")
    search("vague", VAGUE_IDENTIFIER, code, "a name that says nothing: {}")
    return findings


def check_name(path: pathlib.Path) -> list:
    for part in path.parts:
        for term in TERMS:
            part = part.replace(term, "")
        for word in re.split(r"[._\-]", part):
            if VAGUE.fullmatch(word):
                return [Finding(path, 1, f"no file or folder is named '{word}': say what is in it")]
    return []


def check_notes(root: pathlib.Path, path: pathlib.Path) -> list:
    if path.name in ("words.py", "test_words.py"):
        return []
    findings = []
    for number, line in enumerate(read(root, path).splitlines(), 1):
        if match := UNFINISHED.search(line):
            findings.append(Finding(path, number, f"{match.group()}: finish it or file it, code carries no notes"))
        if BANNER.search(line):
            findings.append(Finding(path, number, "a banner: the file's first lines say what it is"))
    return findings


def check_python_imports(root: pathlib.Path, path: pathlib.Path) -> list:
    """The Python package stands alone: it imports neither onnxruntime nor onnx, in no form."""
    findings = []
    try:
        tree = ast.parse(read(root, path))
    except SyntaxError as error:
        return [Finding(path, error.lineno or 1, f"does not parse: {error.msg}")]
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        elif isinstance(node, ast.Call) and called_name(node.func) in ("__import__", "import_module"):
            names = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        for name in names:
            if name.split(".")[0] in FOREIGN:
                findings.append(Finding(path, node.lineno, f"the package never imports {name}"))
    return findings


def called_name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
