#!/usr/bin/env python3
"""Runs one execution provider against the CPU: node cases, ways to cut a graph, sizes, errors, threads. See README.md."""
from __future__ import annotations

import argparse
import collections
import json
import pathlib
import select
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
CASE_SECONDS = 60


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="./dev cts")
    parser.add_argument("plugin", nargs="?", help="a plugin library; without one, --provider names one that is built in")
    parser.add_argument("--provider", help="name of the execution provider (default: the plugin's first, else the CPU's)")
    parser.add_argument("--name", default="cts", help="name to register the plugin under; some take it as their own")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="of the provider; {dir}: the plugin's folder")
    parser.add_argument("--nodes", type=int, default=200, help="how many of ONNX's node cases (0: none, -1: all)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="absolute and relative")
    parser.add_argument("--only", help="cases whose name has this in it")
    parser.add_argument("--allow", type=int, default=0, metavar="N", help="how many node cases may fail; all else must be right")
    parser.add_argument("--list", action="store_true", help="names of the cases")
    parser.add_argument("--verbose", action="store_true", help="a line for every case")
    arguments = parser.parse_args()

    sys.path.insert(0, str(HERE))
    import worker

    cases = [n for n in worker.names(arguments.nodes, arguments.seed) if not arguments.only or arguments.only in n]
    if arguments.list:
        print("\n".join(cases))
        return 0
    options = dict(o.split("=", 1) for o in arguments.option)
    setting = {"plugin": arguments.plugin, "registration": arguments.name, "provider": arguments.provider,
               "options": options, "tolerance": arguments.tolerance}
    start, results = time.monotonic(), {}
    todo = cases
    while todo:
        told = run_worker(setting, todo, results, arguments.verbose)
        if told:
            print(f"cannot begin: {told}")
            return 2
        todo = [n for n in todo if n not in results]
    return summary(results, arguments.allow, time.monotonic() - start)


def run_worker(setting: dict, todo: list, results: dict, verbose: bool) -> str:
    """Runs until all is done or the process dies; what it was at is a crash or a hang then. Returns why it cannot begin."""
    process = subprocess.Popen([sys.executable, str(HERE / "worker.py"), json.dumps(setting)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    process.stdin.write(json.dumps(todo))
    process.stdin.close()
    at, ended = None, "crashed"
    while True:
        if not select.select([process.stdout], [], [], CASE_SECONDS)[0]:
            process.kill()
            ended = f"no end after {CASE_SECONDS} s"
            break
        line = process.stdout.readline()
        if not line:
            break
        if not line.startswith("{"):
            continue
        told = json.loads(line)
        if "fatal" in told:
            process.wait()
            return told["fatal"]
        if "provider" in told and not results:
            print(f"{told['provider']}: written with {told['ours']} for what it takes, {told['foreign']} for what it leaves", flush=True)
        if "begin" in told:
            at = told["begin"]
        if "case" in told:
            at = None
            results[told["case"]] = (told["status"], told["text"])
            report(told["case"], told["status"], told["text"], verbose)
    code = process.wait()
    if at is None and code and not results:
        return f"the worker ended with {code}"
    if at is None and any(n not in results for n in todo):
        return f"the worker ended with {code} between two cases"
    if at is not None:
        text = ended if ended != "crashed" else f"the process died with {code}"
        results[at] = ("crashed", text)
        report(at, "crashed", text, verbose)
    return ""


def report(name: str, status: str, text: str, verbose: bool) -> None:
    if verbose or status in ("wrong", "failed", "crashed"):
        print(f"{status:12} {name}{f': {text}' if text else ''}", flush=True)


def summary(results: dict, allow: int, seconds: float) -> int:
    groups = collections.defaultdict(collections.Counter)
    for name, (status, _) in results.items():
        groups[name.split("/")[0]][status] += 1
    for group, counts in groups.items():
        print(f"{group}: " + ", ".join(f"{n} {status}" for status, n in counts.most_common()))
    bad = [n for n, (s, _) in results.items() if s in ("wrong", "failed", "crashed")]
    bad_nodes = [n for n in bad if n.startswith("node/") and results[n][0] != "crashed"]
    fine = len(bad) == len(bad_nodes) and len(bad_nodes) <= allow
    print(f"{'PASS' if fine else 'FAIL'}: {sum(s == 'ok' for s, _ in results.values())} ok, {len(bad)} not, of {len(results)} ({seconds:.0f} s)")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
