"""Lets programs that import onnxruntime run on trunnion.

    python -m trunnion.as_onnxruntime SCRIPT [ARGUMENTS...]
    python -m trunnion.as_onnxruntime -m MODULE [ARGUMENTS...]
    python -m trunnion.as_onnxruntime -c CODE [ARGUMENTS...]

or, before anything imports onnxruntime:

    import trunnion.as_onnxruntime
    trunnion.as_onnxruntime.install()

A folder with a package `onnxruntime` (version 1.32.0, with metadata, and capi/libonnxruntime.so.1 for those who look for
the library) is put on the import path and on PYTHONPATH, so that started Pythons have it too, unless they ignore the
environment (-I, -E).
"""

from __future__ import annotations

import hashlib
import importlib
import os
import runpy
import shutil
import sys
import tempfile
import types
from pathlib import Path

VERSION = "1.32.0"
_LINK = Path("onnxruntime", "capi", "libonnxruntime.so.1")


def folder() -> str:
    """The folder that holds the package `onnxruntime`, made ready: its library is the one that trunnion uses.

    An installed package cannot carry the link to its library, so the few files are copied to the user's cache once."""
    from . import _native

    template, library = Path(__file__).parent / "_as_onnxruntime", Path(_native.library_path())
    if _is_linked(template, library):
        return str(template)
    digest = hashlib.sha256(str(library).encode())
    for path in sorted(template.rglob("*.py")):
        digest.update(path.read_bytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trunnion"
    place = cache / f"as_onnxruntime-{digest.hexdigest()[:16]}"
    try:
        if not place.is_dir():
            cache.mkdir(parents=True, exist_ok=True)
            fresh = Path(tempfile.mkdtemp(dir=cache))
            shutil.copytree(
                template, fresh, dirs_exist_ok=True, ignore=shutil.ignore_patterns(_LINK.name, "__pycache__")
            )
            (fresh / _LINK).symlink_to(library)
            try:
                fresh.rename(place)
            except OSError:
                shutil.rmtree(fresh)  # another process was first
        if place.stat().st_uid == os.getuid() and _is_linked(place, library):
            return str(place)
    except OSError:
        pass
    return str(template)  # without the link: only programs that look for the library's file miss it


def _is_linked(root: Path, library: Path) -> bool:
    link = root / _LINK
    return link.exists() and library.exists() and os.path.samefile(link, library)


def install(position: int = 0) -> str:
    """Makes `import onnxruntime` give trunnion, here and in Pythons that are started from here; returns the folder that
    was put on sys.path (at `position`). RuntimeError when another onnxruntime is imported already."""
    place = folder()
    loaded = sys.modules.get("onnxruntime")
    if loaded is not None and not str(getattr(loaded, "__file__", "")).startswith(place):
        raise RuntimeError(
            f"onnxruntime is imported already, from {getattr(loaded, '__file__', 'somewhere')}: "
            "call trunnion.as_onnxruntime.install() before anything imports it"
        )
    if place not in sys.path:
        sys.path.insert(position, place)
    inherited = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry and entry != place]
    os.environ["PYTHONPATH"] = os.pathsep.join([place, *inherited])
    importlib.invalidate_caches()
    return place


def _run_code(code: types.CodeType, path: str | None) -> None:
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=__builtins__, __spec__=None)
    if path is not None:
        main.__file__ = path
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def _show_error(kind: type, error: BaseException, trace: types.TracebackType | None) -> None:
    """An error of the program, without the frames that led to it."""
    own = {__file__, runpy.__file__, "<frozen runpy>"}
    begin = trace
    while begin and begin.tb_frame.f_code.co_filename in own:
        begin = begin.tb_next
    sys.__excepthook__(kind, error.with_traceback(begin or trace), begin or trace)


def main(arguments: list[str]) -> int:
    """Runs a program as the interpreter would."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip(), file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    kind, rest = arguments[0], arguments[1:]
    if kind in ("-m", "-c") and not rest:
        print(f"trunnion.as_onnxruntime: {kind} needs an argument", file=sys.stderr)
        return 2
    sys.excepthook = _show_error
    install(position=1)  # behind the program's own folder, as PYTHONPATH is
    if kind == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv, sys.path[0] = ["-c", *rest[1:]], ""
        _run_code(compile(rest[0], "<string>", "exec"), None)
    elif kind.startswith("-"):
        print(f"trunnion.as_onnxruntime: unknown option {kind}; see --help", file=sys.stderr)
        return 2
    elif not os.path.exists(kind):
        print(f"trunnion.as_onnxruntime: can't open file {kind!r}: no such file", file=sys.stderr)
        return 2
    else:
        sys.argv = arguments
        if os.path.isdir(kind) or _is_archive(kind):
            runpy.run_path(kind, run_name="__main__")
        else:
            sys.path[0] = os.path.dirname(os.path.abspath(kind))
            with open(kind, "rb") as file:
                code = compile(file.read(), kind, "exec")
            _run_code(code, kind)
    return 0


def _is_archive(path: str) -> bool:
    with open(path, "rb") as file:
        return path.endswith(".pyc") or file.read(2) == b"PK"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
