#!/usr/bin/env python3
"""Writes docs/operators.md from what the built command line lists: tools/gen/operators.py [PROGRAM].

tests/cli/test_operators.py says when it is out of date.
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / "docs/operators.md"
HEAD = """# Operators

Written by `tools/gen/operators.py` from `trunnion operators --markdown`; not edited by hand.

A version is the opset from which a signature holds: every one that is listed is understood, but for what the notes say.
Element types are those of the input that chooses the kernel ("any": all that the signature allows). Operators without a
provider are refused when a model is loaded, by name. A kernel may refuse an attribute or a combination of types; the
error then names it. Not meant to come: the text generation loops of com.microsoft (BeamSearch, GreedySearch, Sampling,
WhisperBeamSearch), for loops around a model belong to its caller.

"""


def document(program) -> str:
    listed = subprocess.run([program, "operators", "--markdown"], check=True, capture_output=True, text=True)
    return HEAD + listed.stdout


if __name__ == "__main__":
    TARGET.write_text(document(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/trunnion"))
