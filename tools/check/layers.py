"""The include rule: a room includes only what layers.txt allows it, and a file of one ISA next to nothing."""
import pathlib
import re

from sources import CPP, Finding, code_only, is_test, read, rows, walk

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?P<open>["<])(?P<name>[^">\n]+)[">]', re.MULTILINE)
# Code compiled with an ISA's flags must not instantiate anything that other code shares.
ISA_FILE = re.compile(r"_(avx2|avx512|avx512vnni|avx512bf16|amx|neon|dotprod|i8mm)\.cc$")
ISA_ALLOWED = re.compile(r"^(kernels/.*|cstdint|cstddef|stdint\.h|stddef\.h|[a-z0-9]*intrin\.h|arm_\w+\.h)$")
# Kernels start no thread and hold no state; the code compiled once per instruction set owns no memory either.
KERNELS_FORBIDDEN = {
    "condition_variable", "deque", "functional", "future", "list", "map", "mutex", "set", "shared_mutex", "thread",
    "unordered_map", "unordered_set",
}
SIMD_FORBIDDEN = KERNELS_FORBIDDEN | {"memory", "string", "vector"}
CLIENTS = ("cli", "bindings")


def load_rules(path: pathlib.Path) -> dict:
    rules = {}
    for _, line in rows(path):
        room, _, allowed = line.partition(":")
        rules[room.strip()] = set(allowed.split())
    return rules


def check(root: pathlib.Path) -> list:
    rules = load_rules(root / "tools/check/layers.txt")
    rooms = set(rules) - set(CLIENTS) | {"trunnion", "hwy"}
    findings = []
    for top in ("src",) + CLIENTS:
        for path in walk(root, top, CPP):
            room = path.parts[1] if top == "src" and len(path.parts) > 2 else top
            if room not in rules:
                findings.append(Finding(path, 1, f"{room} is no room of layers.txt"))
                continue
            findings += check_file(root, path, room, rules[room], rooms)
    return findings


def check_file(root: pathlib.Path, path: pathlib.Path, room: str, allowed: set, rooms: set) -> list:
    findings = []
    text = code_only(read(root, path))
    forbidden = set()
    if room == "kernels" and not is_test(path):
        forbidden = SIMD_FORBIDDEN if path.name.endswith(".simd.cc") else KERNELS_FORBIDDEN
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start("name")) + 1
        name, quoted = match["name"], match["open"] == '"'
        target = name.split("/", 1)[0]

        def fault(reason: str) -> None:
            findings.append(Finding(path, line, reason))

        if target in rooms and "/" in name:
            if target != room and target not in allowed and name not in allowed:
                headers = sorted(a for a in allowed if a.startswith(target + "/"))
                fault(f"{room} may not include {target}" + (f" (only {', '.join(headers)})" if headers else ""))
                continue
        elif quoted and room not in CLIENTS:
            fault(f'"{name}" is not of the form "room/file.h"')
            continue
        if ISA_FILE.search(path.name) and not ISA_ALLOWED.match(name):
            fault(f"a file of one ISA includes only kernels/, <cstdint>, <cstddef> and intrinsics, not {name}")
        elif not quoted and name in forbidden:
            fault(f"kernels own nothing and start no thread: <{name}> belongs elsewhere")
    return findings
