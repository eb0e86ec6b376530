"""Generated files are what their generators write: each program of tools/gen that knows --check is asked."""
import pathlib
import subprocess
import sys

from sources import Finding, read, walk

ENVIRONMENT = "build/venv/bin/python"  # has the packages that a generator may read from


def check(root: pathlib.Path):
    """Findings, or a text that says which generator could not be asked."""
    findings, unasked = [], []
    for path in walk(root, "tools/gen", (".py",)):
        if "--check" not in read(root, path):
            continue
        for python in (root / ENVIRONMENT, sys.executable):
            if not pathlib.Path(python).exists():
                continue
            asked = subprocess.run([python, root / path, "--check"], cwd=root, capture_output=True, text=True)
            if "ModuleNotFoundError" not in asked.stderr:
                break
        if "ModuleNotFoundError" in asked.stderr:
            unasked.append(f"{path} needs {asked.stderr.rsplit(None, 1)[-1]}: ./dev test brings it")
        elif asked.returncode:
            said = (asked.stdout + asked.stderr).strip().splitlines()
            findings.append(Finding(path, 1, f"its output is out of date: {said[-1] if said else 'no message'}"))
    return findings or "; ".join(unasked) or []
