"""Long commands with their progress, logs and elapsed times; and stamps, so that what is done is not done again."""
import contextlib
import fcntl
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

from paths import BUILD, LOGS, ROOT, STAMPS

HEARTBEAT_S = 20  # between progress lines where nobody watches a terminal
TAIL_LINES = 40


class Failed(Exception):
    """A step failed; the text says all that the user needs."""


def say(text: str) -> None:
    """To stderr: the verbs' own answers are alone on stdout."""
    print(f"dev: {text}", file=sys.stderr, flush=True)


def took(start: float) -> str:
    seconds = time.monotonic() - start
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds) // 60} min {int(seconds) % 60:02} s"


def last_progress(log: pathlib.Path) -> str:
    """The newest [done/all] or other line of a log, shortened."""
    try:
        lines = log.read_bytes()[-4000:].decode("utf-8", "replace").split("\n")
    except OSError:
        return ""
    counted = [line for line in lines if re.match(r"\[\d+/\d+\]", line)]
    line = (counted or [line for line in lines if line.strip()] or [""])[-1]
    return line.strip()[:70]


def run(title: str, command: list, environment: dict | None = None) -> None:
    """Runs a command silently into build/log/; a progress line now and then, its end and time, or why it failed."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / (re.sub(r"\W+", "_", title) + ".log")
    start, done = time.monotonic(), threading.Event()
    terminal = sys.stderr.isatty()

    def watch() -> None:
        while not done.wait(1 if terminal else HEARTBEAT_S):
            line = f"dev: {title} ... {took(start)} {last_progress(log)}"
            print(f"\r\033[K{line}" if terminal else line, end="" if terminal else "\n", file=sys.stderr, flush=True)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        with open(log, "wb") as output:
            code = subprocess.run(
                [str(word) for word in command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, env=os.environ | (environment or {}),
            ).returncode
    finally:
        done.set()
        watcher.join()
        if terminal:
            print("\r\033[K", end="", file=sys.stderr)
    if code:
        tail = log.read_text(errors="replace").splitlines()
        first = next((n for n, line in enumerate(tail) if line.startswith("FAILED:") or " error: " in line), None)
        shown = tail[first : first + TAIL_LINES] if first is not None else tail[-TAIL_LINES:]
        raise Failed("\n".join(shown) + f"\n{title} failed after {took(start)}; the whole log: {log}")
    if time.monotonic() - start > 1:
        say(f"{title}: {took(start)}")


def stream(command: list, environment: dict | None = None, folder: pathlib.Path = ROOT) -> tuple:
    """Runs a command in full view, in a folder; (exit code, its lines)."""
    lines = []
    with subprocess.Popen(
        [str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", env=os.environ | (environment or {}),
    ) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
    return process.returncode, lines


def fingerprint(*parts) -> str:
    """One text for the contents of files (paths) and other facts (anything else)."""
    digest = hashlib.sha256()
    for part in parts:
        content = part.read_bytes() if isinstance(part, pathlib.Path) else str(part).encode()
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()


def is_done(name: str, mark: str) -> bool:
    stamp = STAMPS / name
    return stamp.is_file() and stamp.read_text() == mark


def set_done(name: str, mark: str) -> None:
    STAMPS.mkdir(parents=True, exist_ok=True)
    (STAMPS / name).write_text(mark)


@contextlib.contextmanager
def one_at_a_time():
    """Two ./dev at once build one after the other."""
    BUILD.mkdir(exist_ok=True)
    with open(BUILD / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another ./dev is building here; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def jobs() -> int:
    """Compilers at once: one a usable core, and 1.5 GiB of free memory for each."""
    cores = len(os.sched_getaffinity(0))
    with contextlib.suppress(OSError, StopIteration, ValueError):
        lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
        free_kib = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
        return max(1, min(cores, free_kib // (1536 << 10)))
    return cores
