"""Fixtures of the Python tests. They pass on trunnion's own library and, where they do not say otherwise, on any other
that TRUNNION_LIBRARY names."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import trunnion as ort  # noqa: E402
from small_models import OWN  # noqa: E402

from trunnion import _native  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "own: needs trunnion's own library")


def pytest_collection_modifyitems(items):
    skip = pytest.mark.skip(reason=f"needs trunnion's own library, not {_native.library_path()}")
    for item in items:
        if item.get_closest_marker("own") and not OWN:
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def quiet():
    """Errors are asserted, not logged."""
    ort.set_default_logger_severity(4)


@pytest.fixture
def python(tmp_path):
    """Runs a Python of its own that can import trunnion: python(*arguments, code=...) -> the finished process."""
    import subprocess

    def run(*arguments, code=None, check=True, **environment):
        command = [sys.executable, *(["-c", code] if code is not None else []), *map(str, arguments)]
        folders = [str(pathlib.Path(ort.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, folders)),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
        }
        env.update(environment)
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)
        if check:
            assert done.returncode == 0, done.stderr
        return done

    return run
