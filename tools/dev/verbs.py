"""The verbs of ./dev."""
import contextlib
import os
import pathlib
import re
import shutil
import sys
import time

import clients
import environment
import packages
import steps
from paths import BUILD, LIBRARY, MODULE, PROGRAM, PYTHON, RELEASE, ROOT, VENV

HELP = """usage: ./dev VERB [ARGUMENTS]

  demo [PICTURE]    read the text of a picture (default: the shipped one) with rapidocr-onnxruntime on trunnion
  test [PART...]    build, then run the tests; parts: checks, unit (C++), python; default all
  build             the library, the command line and the Python module
  clients [NAME...] run ONNX Runtime's bindings for other languages on the library: node, go, java, rust, and cpp, its own
                    headers; default all
  cts [PLUGIN]      run an execution provider, that of a plugin library or the CPU's, against the CPU (./dev cts --help)
  memcheck          the C ABI's tests and the C and C++ examples under valgrind: no leak, no error
  bench [MODEL ...] measure models (./dev bench --help); without one, those of the demo and the kernels
  format            lay out the C++ sources
  check [NAME...]   the checks that keep the house: layers, sizes, words, formatting, generated, isa_objects,
                    static_init
  clean             remove build/
  python ARGS...    a Python with pip that imports trunnion; further packages can be added
  where WHAT        the path of: lib (libonnxruntime.so.1), cli, venv
  help              this text

Missing Debian packages are installed when run as root, else named. Everything made is under build/."""

CONFIGURE = ["cmake", "--preset", "release", "-DTRUNNION_BUILD_PYTHON=ON", f"-DPython_EXECUTABLE={PYTHON}"]


def configure(again: bool = False) -> None:
    """Makes build/release ready to build, if it is not, or `again` because packages came."""
    cache = RELEASE / "CMakeCache.txt"
    facts = cache.read_text() if cache.is_file() else ""
    if facts and f"CMAKE_HOME_DIRECTORY:INTERNAL={ROOT}\n" not in facts:
        shutil.rmtree(RELEASE)  # the tree was moved or copied
    elif not again and (RELEASE / "build.ninja").is_file() and "TRUNNION_BUILD_PYTHON:BOOL=ON\n" in facts and f"={PYTHON}\n" in facts:
        return
    steps.run("configure", CONFIGURE)


def build(*purposes: str, everything: bool = False) -> None:
    """Library, command line and Python module (or every target), and an environment with the packages for `purposes`."""
    with steps.one_at_a_time():
        came = packages.ensure(packages.BUILD, packages.PYTHON, optional=packages.EXTRAS)
        environment.ensure("build", *purposes)
        environment.link_trunnion()
        configure(again=came)
        targets = [] if everything else ["--target", "onnxruntime", "trunnion", "trunnion_python"]
        title = "build everything" if everything else "build the library, the command line and the Python module"
        steps.run(title, ["cmake", "--build", RELEASE, "-j", steps.jobs(), *targets])


def verb_build(arguments: list) -> int:
    no_arguments(arguments)
    build()
    steps.say(f"built {', '.join(str(path.relative_to(ROOT)) for path in (LIBRARY, PROGRAM, MODULE))}")
    return 0


def verb_demo(arguments: list) -> int:
    build("demo")
    return exec_python([str(ROOT / "demo/ocr_demo.py"), *arguments])


def verb_python(arguments: list) -> int:
    build()
    return exec_python(arguments)


def exec_python(arguments: list) -> int:
    sys.stdout.flush()
    os.execv(PYTHON, [str(PYTHON), *arguments])


def verb_where(arguments: list) -> int:
    places = {"lib": LIBRARY, "cli": PROGRAM, "venv": VENV}
    if len(arguments) != 1 or arguments[0] not in places:
        raise steps.Failed(f"usage: ./dev where {'|'.join(places)}")
    print(places[arguments[0]])
    if not places[arguments[0]].exists():
        steps.say("not built yet: ./dev build")
        return 1
    return 0


def verb_format(arguments: list) -> int:
    no_arguments(arguments)
    packages.ensure(packages.CHECK)
    sys.path.insert(0, str(ROOT / "tools/check"))
    import formatting

    steps.say(f"{formatting.write(ROOT)} files laid out")
    return 0


def verb_check(arguments: list) -> int:
    packages.ensure({"g++": packages.BUILD["g++"]}, packages.CHECK)
    return steps.stream([sys.executable, ROOT / "tools/check/run.py", *arguments])[0]


def verb_bench(arguments: list) -> int:
    build("demo")
    code = 0
    for model in [arguments] if arguments else environment.demo_models():
        # Where the user is, for the paths that he gives.
        code |= steps.stream([PYTHON, ROOT / "demo/measure.py", *model], folder=pathlib.Path.cwd())[0]
    if arguments:
        return code
    packages.ensure(packages.BENCH)
    with steps.one_at_a_time():
        steps.run("configure the micro-benchmarks", [*CONFIGURE, "-DTRUNNION_BUILD_BENCH=ON"])
        steps.run("build the micro-benchmarks", ["cmake", "--build", RELEASE, "-j", steps.jobs(), "--target", "benchmarks"])
    for program in sorted((RELEASE / "bench").glob("*_bench")):
        code |= steps.stream([program])[0]
    return code


def verb_cts(arguments: list) -> int:
    build("test")
    return exec_python([str(ROOT / "tests/cts/cts.py"), *arguments])


def verb_clean(arguments: list) -> int:
    no_arguments(arguments)
    shutil.rmtree(BUILD, ignore_errors=True)
    return 0


def verb_test(arguments: list) -> int:
    parts = {
        "checks": [sys.executable, ROOT / "tools/check/run.py", "--strict"],
        "unit": ["ctest", "--test-dir", RELEASE, "--output-on-failure", "--timeout", 600, "-j", steps.jobs()],
        "python": [PYTHON, "-m", "pytest", "-q"],
    }
    if unknown := [part for part in arguments if part not in parts]:
        raise steps.Failed(f"no part {unknown[0]}; there are {', '.join(parts)}")
    start = time.monotonic()
    packages.ensure(packages.BUILD, packages.PYTHON, packages.CHECK)
    build("test", "demo", everything=True)
    outcomes, passed, failed, skipped = [], 0, 0, 0
    for part in arguments or parts:
        begun = time.monotonic()
        code, lines = steps.stream(parts[part])
        closing, counts = closing_line(lines)
        passed, failed, skipped = passed + counts[0], failed + counts[1], skipped + counts[2]
        failed += bool(code and not counts[1])  # it broke without a word on what
        outcomes.append(f"  {part:8}{'FAILED' if code else 'ok':8}{steps.took(begun):12}{closing}")
    print(f"\n./dev test, {steps.took(start)} with the build:")
    print("\n".join(outcomes))
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0


def verb_clients(arguments: list) -> int:
    if unknown := [name for name in arguments if name not in clients.CLIENTS]:
        raise steps.Failed(f"no client {unknown[0]}; there are {', '.join(clients.CLIENTS)}")
    names = arguments or list(clients.CLIENTS)
    clients.install_tools(names)
    build("test")
    return clients.run(names)


# What holds memory to the end of the process is reachable and no leak; what nobody can reach any more is one.
VALGRIND = ["valgrind", "--quiet", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite,indirect,possible",
            "--errors-for-leak-kinds=definite,indirect,possible", "--num-callers=25", "--child-silent-after-fork=yes"]


def verb_memcheck(arguments: list) -> int:
    no_arguments(arguments)
    packages.ensure(packages.MEMCHECK)
    build("test")
    with steps.one_at_a_time():
        steps.run("build the tests of the C ABI", ["cmake", "--build", RELEASE, "-j", steps.jobs(), "--target", "abi_test", "hello_c", "hello_cpp"])
    steps.run("write the models", [PYTHON, ROOT / "tests/clients/models.py", BUILD / "memcheck"])
    model = [BUILD / "memcheck/small.onnx", 2, 3]
    programs = {
        "tests of the C ABI": [RELEASE / "abi_test", "--gtest_brief=1"],
        "hello.c": [RELEASE / "hello_c", *model],
        "hello.cpp": [RELEASE / "hello_cpp", *model],
    }
    failed = 0
    for title, program in programs.items():
        start = time.monotonic()
        code = steps.stream([*VALGRIND, *program], {"TRUNNION_NUM_THREADS": "2", "TRUNNION_MEMCHECK": "1"})[0]
        failed += bool(code)
        print(f"{'FAILED' if code else 'ok':8}{title}, {steps.took(start)}", flush=True)
    print(f"{len(programs) - failed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


def closing_line(lines: list) -> tuple:
    """The line in which a runner sums up, and its (passed, failed, skipped)."""
    for line in reversed(lines):
        if match := re.search(r"tests passed, (\d+) tests failed out of (\d+)", line):
            failed, total = int(match[1]), int(match[2])
            return line.strip(), (total - failed, failed, 0)
        counts = dict((word, int(number)) for number, word in re.findall(r"(\d+) (passed|failed|errors?|skipped)", line))
        if counts and ("passed" in counts or "failed" in counts or "error" in counts or "errors" in counts):
            failed = counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0)
            return line.strip(" ="), (counts.get("passed", 0), failed, counts.get("skipped", 0))
    return "no summary", (0, 0, 0)


def no_arguments(arguments: list) -> None:
    if arguments:
        raise steps.Failed(f"takes no argument {arguments[0]!r}; ./dev help lists the verbs")


def main(arguments: list) -> int:
    verb, rest = (arguments[0], arguments[1:]) if arguments else ("help", [])
    if verb in ("help", "-h", "--help"):
        with contextlib.suppress(BrokenPipeError):  # ./dev help | head -1
            print(HELP, flush=True)
            return 0
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the exit would try to write the rest
        return 0
    function = globals().get(f"verb_{verb}")
    if not function:
        print(f"dev: no verb {verb!r}; ./dev help lists them", file=sys.stderr)
        return 2
    try:
        return function(rest)
    except steps.Failed as failure:
        print(f"dev: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
