"""Fixtures of the command line's tests: the program, and files for it."""
import json
import os
import pathlib
import subprocess
import sys

import onnx
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).parent))


def find_program() -> pathlib.Path:
    """TRUNNION_CLI, else what ./dev builds."""
    named = os.environ.get("TRUNNION_CLI")
    if named:
        return pathlib.Path(named)
    asked = subprocess.run([sys.executable, ROOT / "dev", "where", "cli"], capture_output=True, text=True)
    return pathlib.Path(asked.stdout.strip())


class Program:
    """Runs in a folder of its own: cli("run", "m.onnx") -> (exit code, stdout, stderr)."""

    def __init__(self, path: pathlib.Path, folder: pathlib.Path):
        self.path, self.folder = path, folder

    def __call__(self, *arguments):
        command = [self.path, *map(str, arguments)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, timeout=120)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def good(self, *arguments) -> str:
        code, out, err = self(*arguments)
        assert (code, err) == (0, ""), err
        return out

    def json(self, *arguments) -> dict:
        return json.loads(self.good(*arguments, "--json"))

    def bad(self, code, *arguments) -> str:
        """The one line that it fails with."""
        got, out, err = self(*arguments)
        assert got == code, (got, out, err)
        assert out == "" and err.startswith("trunnion: ") and err.count("\n") == 1 and err.endswith("\n"), (out, err)
        return err[len("trunnion: ") : -1]

    def save(self, model, name="m.onnx") -> str:
        onnx.save(model, self.folder / name)
        return name


@pytest.fixture(scope="session")
def program_path() -> pathlib.Path:
    path = find_program()
    if not path.is_file():
        pytest.skip(f"the command line is not built: {path}")
    return path


@pytest.fixture
def cli(program_path, tmp_path) -> Program:
    return Program(program_path, tmp_path)
