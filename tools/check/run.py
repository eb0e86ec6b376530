"""Runs the checks that keep the house: python3 tools/check/run.py [--root FOLDER] [--strict] [NAME...]

Each finding is one line, file:line: reason. The exit code is 1 when there is a finding; with --strict also when a
check could not look (no build, no clang-format).
"""
import argparse
import importlib
import pathlib
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

CHECKS = ("layers", "sizes", "words", "formatting", "generated", "isa_objects", "static_init")


def main() -> int:
    parser = argparse.ArgumentParser(prog="check", description="The checks that keep the house.")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--strict", action="store_true", help="a check that could not look is a failure")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CHECKS)}; default all")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(CHECKS)
    if unknown:
        parser.error(f"unknown check {', '.join(sorted(unknown))}; there are {', '.join(CHECKS)}")
    passed = failed = skipped = 0
    for name in arguments.names or CHECKS:
        start = time.monotonic()
        findings = importlib.import_module(name).check(arguments.root)
        took = time.monotonic() - start
        if isinstance(findings, str):
            skipped += 1
            state = f"skipped: {findings}"
        elif findings:
            failed += 1
            state = f"{len(findings)} found"
            print("\n".join(map(str, findings)))
        else:
            passed += 1
            state = "ok"
        print(f"check {name:12} {state} ({took:.1f} s)", flush=True)
    print(f"checks: {passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or (arguments.strict and skipped) else 0


if __name__ == "__main__":
    sys.exit(main())
