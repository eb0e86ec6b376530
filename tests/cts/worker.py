"""Runs cases one by one in a process of its own and prints a line of JSON for each; started by cts.py."""
from __future__ import annotations

import json
import os
import sys
import threading

import catalog
import node_cases
import numpy as np
import trunnion
from host import CPU, Host, Wrong, compare


class Skip(Exception):
    """The case has no meaning for this provider."""


def menu_of(host: Host) -> catalog.Menu:
    """Which operators the provider takes and which it leaves. The CPU takes all: it is its own foreigner."""

    def takes(op, binary=False):
        try:
            return bool(host.holds(host.session(catalog.probe(op, binary))))
        except Exception:
            return False

    unary = [op for op in catalog.UNARY if takes(op)]
    foreign = [op for op in catalog.UNARY if op not in unary]
    binary = next((op for op in catalog.BINARY if takes(op, True)), None)
    if host.provider == CPU:
        foreign = catalog.UNARY[9:10]
    if not unary:  # it takes nothing: the CPU runs everything, and must do so right
        return catalog.Menu(catalog.UNARY[0], binary or catalog.BINARY[0], catalog.UNARY[9])
    return catalog.Menu(unary[0], binary or catalog.BINARY[0], foreign[0] if foreign else None)


def check_model(host: Host, case: catalog.Case, menu, tolerance: float) -> str:
    for need in case.needs.split():
        if getattr(menu, need) is None:
            raise Skip(f"the provider leaves no operator to others, which '{need}' needs" if need == "foreign" else f"no {need} operator")
    model = case.make(menu)
    cpu = host.cpu_session(model)
    session = host.session(model)
    for i, feed in enumerate(case.feeds()):
        want, got = cpu.run(None, feed), session.run(None, feed)
        for name, g, w in zip([o.name for o in session.get_outputs()], got, want):
            compare(g, w, tolerance, f"run {i}, output '{name}'")
    return f"{len(host.holds(session))} nodes"


def expect_error(what: str, call, *words: str) -> None:
    try:
        call()
    except Exception as e:
        text = str(e)
        missing = [w for w in words if w not in text]
        if missing:
            raise Wrong(f"{what}: the error does not name {missing}: {text[:200]}")
        return
    raise Wrong(f"{what} is no error")


def errors(host: Host, menu, tolerance: float) -> str:
    """What goes wrong is an error with a name in it, and the next run is right again."""
    model = catalog.chain("uu")(menu)
    session, cpu = host.session(model), host.cpu_session(model)
    good = {"x": catalog.feed(4, 8)}
    expect_error("a wrong shape", lambda: session.run(None, {"x": catalog.feed(4, 9)}), "x")
    expect_error("a wrong type", lambda: session.run(None, {"x": good["x"].astype(np.int64)}), "x")
    expect_error("a missing input", lambda: session.run(None, {}), "x")
    expect_error("an unknown output", lambda: session.run(["nothing"], good), "nothing")
    for got, want in zip(session.run(None, good), cpu.run(None, good)):
        compare(got, want, tolerance, "the run after the errors")
    if menu.foreign is not None and host.provider != CPU and host.holds(session):
        mixed = catalog.chain("ufu")(menu)
        expect_error("strict placement", lambda: host.session(mixed, **{"session.strict_placement": "1"}), "session.strict_placement", host.provider)
    if host.plugin is not None:
        expect_error("unregistering while a session lives",
                     lambda: trunnion.unregister_execution_provider_library(host.registration), host.registration)
        expect_error("registering twice",
                     lambda: trunnion.register_execution_provider_library(host.registration, host.plugin), host.registration)
    return ""


def concurrency(host: Host, menu, tolerance: float, sessions: int, threads: int) -> str:
    """Threads share sessions; each checks its own results."""
    model = catalog.dynamic_whole(menu) if menu.foreign is None else catalog.dynamic(menu)
    cpu = host.cpu_session(model)
    feeds = [{"x": catalog.feed(4, 8, seed=i)} for i in range(threads)]
    wants = [cpu.run(None, f) for f in feeds]
    made = [host.session(model) for _ in range(sessions)]
    failures: list = []

    def work(i):
        try:
            for _ in range(20):
                for got, want in zip(made[i % sessions].run(None, feeds[i]), wants[i]):
                    compare(got, want, tolerance, f"thread {i}")
        except Exception as e:
            failures.append(e)

    crowd = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for t in crowd:
        t.start()
    for t in crowd:
        t.join()
    if failures:
        raise failures[0]
    return f"{sessions} sessions, {threads} threads"


def again(host: Host, menu, tolerance: float) -> str:
    """Sessions come and go."""
    model = catalog.chain("uu")(menu)
    good = {"x": catalog.feed(4, 8)}
    want = host.cpu_session(model).run(None, good)
    for _ in range(10):
        for got, w in zip(host.session(model).run(None, good), want):
            compare(got, w, tolerance)
    return "10 sessions"


def binding(host: Host, menu, tolerance: float) -> str:
    """Values bound ahead, in the host's memory, in buffers of the caller's."""
    model = catalog.chain("uu")(menu)
    session, good = host.session(model), {"x": catalog.feed(4, 8)}
    want = host.cpu_session(model).run(None, good)[0]
    bound = session.io_binding()
    bound.bind_cpu_input("x", good["x"])
    bound.bind_output("y")
    session.run_with_iobinding(bound)
    compare(bound.copy_outputs_to_cpu()[0], want, tolerance)
    return ""


def behaviours() -> dict:
    return {
        "errors/named and over": errors,
        "concurrency/one session": lambda h, m, t: concurrency(h, m, t, 1, 4),
        "concurrency/four sessions": lambda h, m, t: concurrency(h, m, t, 4, 4),
        "life/ten sessions": again,
        "life/binding": binding,
    }


def names(nodes: int, seed: int) -> list[str]:
    return [c.name for c in catalog.CASES] + list(behaviours()) + [f"node/{n}" for n in node_cases.names(nodes, seed)]


def run_one(host: Host, name: str, menu, tolerance: float) -> tuple[str, str]:
    try:
        if name.startswith("node/"):
            return node_cases.run(host, name[5:], max(tolerance, 1e-3))
        case = next((c for c in catalog.CASES if c.name == name), None)
        text = check_model(host, case, menu, tolerance) if case else behaviours()[name](host, menu, tolerance)
        return "ok", text
    except Skip as e:
        return "skipped", str(e)
    except Wrong as e:
        return "wrong", str(e)
    except Exception as e:
        return "failed", f"{type(e).__name__}: {e}"


def main() -> None:
    setting = json.loads(sys.argv[1])
    try:
        host = Host(setting["plugin"], setting["registration"], setting["provider"], setting["options"])
        menu = menu_of(host)
    except Exception as e:
        print(json.dumps({"fatal": f"{type(e).__name__}: {e}"}), flush=True)
        os._exit(1)
    print(json.dumps({"provider": host.provider, "ours": menu.unary.type, "foreign": menu.foreign and menu.foreign.type}), flush=True)
    for name in json.load(sys.stdin):
        print(json.dumps({"begin": name}), flush=True)
        status, text = run_one(host, name, menu, setting["tolerance"])
        print(json.dumps({"case": name, "status": status, "text": " ".join(text.split())[:400]}), flush=True)
    os._exit(0)  # plugins' own ends of a process are not under test


if __name__ == "__main__":
    main()
