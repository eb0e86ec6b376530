"""Measures a folder of models with `trunnion bench` and writes the table of them.

./dev python bench/models.py FOLDER [--program trunnion] [--only a,b] [--json FILE] [--markdown FILE]
                             [--readme README.md] [OPTIONS OF trunnion bench ...]

Every FOLDER/*.onnx is measured, in a process of its own. FOLDER/bench.txt may hold lines "NAME.onnx OPTIONS" for models
that need some (--dim batch=8, --shape x=1,3,48,192). What this script does not know goes on to trunnion bench:
--threads 1 --seconds 5 --against onnxruntime --python venv/bin/python. --readme replaces what stands between the lines
<!-- bench:begin --> and <!-- bench:end --> of that file.
"""
import argparse
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


def program_of(given: str) -> str:
    path = shutil.which(given)
    if path:
        return path
    root = pathlib.Path(__file__).resolve().parent.parent
    asked = subprocess.run([sys.executable, root / "dev", "where", "cli"], capture_output=True, text=True)
    built = pathlib.Path(asked.stdout.strip() or "/nonexistent")
    if given == "trunnion" and built.is_file():
        return str(built)
    sys.exit(f"there is no program {given!r}: build it (./dev build), or give --program PATH")


def own_options(folder: pathlib.Path) -> dict:
    """{"name.onnx": [words]} of FOLDER/bench.txt."""
    options = {}
    file = folder / "bench.txt"
    for line in file.read_text().splitlines() if file.is_file() else []:
        words = shlex.split(line, comments=True)
        if not words:
            continue
        if not (folder / words[0]).is_file():
            sys.exit(f"{file}: there is no {words[0]} beside it")
        options[words[0]] = words[1:]
    return options


def measure(program: str, model: pathlib.Path, words: list) -> dict:
    done = subprocess.run([program, "bench", str(model), *words, "--json"], capture_output=True, text=True)
    if done.returncode == 2:  # the options are wrong, and so for every model
        sys.exit(done.stderr.strip())
    if done.returncode != 0:
        return {"model": str(model), "fails": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no message"}
    return json.loads(done.stdout)


def figure(ms: float) -> str:
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.3g}"


def engines_of(reports: list) -> list:
    """Names with versions of those that were compared with, in the order of their first appearance."""
    found = {}
    for report in reports:
        for peer in report.get("against", [])[1:]:
            if "version" in peer:
                found.setdefault(peer["engine"], f"{peer['engine']} {peer['version']}")
    return list(found.items())


def table(reports: list) -> str:
    engines = engines_of(reports)
    head = ["model", "p50 ms", "p99 ms", "of the roofline", "load ms", "memory MB", *(name for _, name in engines)]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for report in reports:
        name = pathlib.Path(report["model"]).stem
        if "fails" in report:
            lines.append(f"| {name} | fails: {report['fails']} |" + " |" * (len(head) - 2))
            continue
        peers = {peer["engine"]: peer for peer in report.get("against", [])}
        runs = peers.get("trunnion", report)["runs"] if len(peers) > 1 else report["runs"]
        share = f"{100 * report['fraction_of_limit']:.0f} %" if report.get("limit_ms") else "-"
        cells = [name, figure(runs["p50_ms"]), figure(runs["p99_ms"]), share, figure(report["load_ms"]),
                 f"{report['model_memory_bytes'] / 1e6:.0f}"]
        for engine, _ in engines:
            peer = peers.get(engine, {})
            if "ratio" not in peer:
                cells.append("-")
                continue
            ratio = peer["ratio"]
            cells.append(f"{ratio['median']:.2f}x [{ratio['low']:.2f}, {ratio['high']:.2f}]{' ~' if ratio['noisy'] else ''}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def text_of(reports: list, command: str) -> str:
    good = [report for report in reports if "fails" not in report]
    if not good:
        return "\n".join(f"{report['model']}: {report['fails']}" for report in reports) + "\n"
    first = good[0]
    about = (f"{first['cpu']}, {first['rung']}, {first['threads']} thread{'s' if first['threads'] != 1 else ''}, "
             f"{first['precision']}; made with `{command}`")
    others = "\n\nEngines: their time by trunnion's, above 1 trunnion is faster, with the 95 % interval." if engines_of(good) else ""
    return f"{about}\n\n{table(reports)}{others}\n"


def put_into(readme: pathlib.Path, text: str) -> None:
    content = readme.read_text()
    if content.count(BEGIN) != 1 or content.count(END) != 1 or content.index(BEGIN) > content.index(END):
        sys.exit(f"{readme} needs one line {BEGIN} and after it one {END}: the table goes between them")
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    readme.write_text(pattern.sub(lambda _: f"{BEGIN}\n{text}{END}", content))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", default="trunnion")
    parser.add_argument("--only", default="", help="names of models, without .onnx, separated by commas")
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    parser.add_argument("--readme", type=pathlib.Path)
    arguments, words = parser.parse_known_args()
    if not arguments.folder.is_dir():
        sys.exit(f"{arguments.folder} is no folder")
    program, own = program_of(arguments.program), own_options(arguments.folder)
    only = set(filter(None, arguments.only.split(",")))
    models = [path for path in sorted(arguments.folder.glob("*.onnx")) if not only or path.stem in only]
    if missing := only - {path.stem for path in models}:
        sys.exit(f"{arguments.folder} has no {', '.join(sorted(missing))}")
    if not models:
        sys.exit(f"{arguments.folder} has no .onnx files")
    command = shlex.join(["./dev", "python", "bench/models.py", *sys.argv[1:]])
    reports = []
    for model in models:
        print(f"{model.stem} ...", end=" ", file=sys.stderr, flush=True)
        reports.append(measure(program, model, [*own.get(model.name, []), *words]))
        last = reports[-1]
        print(last.get("fails") or f"{figure(last['runs']['p50_ms'])} ms", file=sys.stderr)
        if arguments.json:
            pathlib.Path(arguments.json).write_text(json.dumps(reports, indent=1))
    text = text_of(reports, command)
    print(text, end="")
    if arguments.markdown:
        pathlib.Path(arguments.markdown).write_text(text)
    if arguments.readme:
        put_into(arguments.readme, text)
    return 1 if any("fails" in report for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main())
