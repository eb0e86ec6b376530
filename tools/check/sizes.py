"""Sizes: 800 lines a file, a line budget for each room, and a README of 1 to 40 lines in each room."""
import pathlib

from sources import CPP, Finding, is_test, read, rows, walk

FILE_LIMIT = 800
README_LIMIT = 40
FOLDERS = ("src", "include", "cli", "bindings", "bench", "cmake", "demo", "docs", "examples", "tests", "tools", "dev", "CMakeLists.txt")
SUFFIXES = CPP + (".py", ".pyi", ".sh", ".cmake", ".txt", ".md", "")
ROOMS_OUTSIDE_SRC = ("bench", "bindings/python", "cli", "demo", "tests", "tools")


def load_rules(path: pathlib.Path) -> tuple:
    files, budgets, faults = {}, {}, []
    for number, line in rows(path):
        words = line.split(None, 3)
        if words[0] == "file" and len(words) == 4 and words[2].isdigit():
            files[words[1]] = (int(words[2]), number)
        elif words[0] == "room" and len(words) == 3 and words[2].isdigit():
            budgets[words[1]] = int(words[2])
        else:
            faults.append((number, "neither 'file PATH LIMIT REASON' nor 'room NAME LINES'"))
    return files, budgets, faults


def check(root: pathlib.Path) -> list:
    table = pathlib.Path("tools/check/sizes.txt")
    exceptions, budgets, faults = load_rules(root / table)
    findings = [Finding(table, number, reason) for number, reason in faults]
    seen, spent = set(), {}
    for folder in FOLDERS:
        for path in walk(root, folder, SUFFIXES):
            lines = read(root, path).count("\n")
            limit, _ = exceptions.get(str(path), (FILE_LIMIT, 0))
            seen.add(str(path))
            if lines > limit:
                findings.append(Finding(path, limit + 1, f"{lines} lines, the limit is {limit}"))
            elif str(path) in exceptions and lines <= FILE_LIMIT:
                findings.append(Finding(table, exceptions[str(path)][1], f"{path} no longer needs its exception"))
            if path.parts[0] == "src" and len(path.parts) > 2 and counts(path):
                spent[path.parts[1]] = spent.get(path.parts[1], 0) + lines
    for path, (_, number) in exceptions.items():
        if path not in seen:
            findings.append(Finding(table, number, f"{path} does not exist"))
    for room, lines in spent.items():
        if room in budgets and lines > budgets[room]:
            findings.append(Finding(pathlib.Path("src", room), 1, f"{lines} lines, the room's budget is {budgets[room]}"))
    return findings + check_readmes(root)


def counts(path: pathlib.Path) -> bool:
    return path.suffix in (".h", ".cc") and not is_test(path)


def check_readmes(root: pathlib.Path) -> list:
    src = root / "src"
    rooms = [room.relative_to(root) for room in sorted(src.iterdir()) if room.is_dir()] if src.is_dir() else []
    rooms += [pathlib.Path(room) for room in ROOMS_OUTSIDE_SRC]
    findings = []
    for room in rooms:
        if not any(walk(root, str(room))):
            continue
        readme = room / "README.md"
        if not (root / readme).is_file():
            findings.append(Finding(readme, 1, "each room has a README: what lives here, what does not, which file first"))
            continue
        lines = read(root, readme).count("\n")
        if not 1 <= lines <= README_LIMIT:
            findings.append(Finding(readme, README_LIMIT + 1, f"{lines} lines, a room's README has 1 to {README_LIMIT}"))
    return findings
