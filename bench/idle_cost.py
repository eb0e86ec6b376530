"""What it costs to call a model of about 1 ms now and then: CPU time beyond that of the same calls back to back.

./dev python bench/idle_cost.py [--model FILE --shape NAME=1,3,8,8 ...] [--rate 20] [--seconds 10] [--threads 1 2]
                                [--engine trunnion]

The excess is what threads burn while they wait for work, and what waking them costs; it is given in percent of a core.
Calls after a pause also run slower, since caches and clock have cooled: --threads 1 shows that part alone.
"""
import argparse
import importlib
import time

import numpy as np

SIZE = 128  # of the matrices in the model made here


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def block(field: int, content: bytes | str) -> bytes:
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def value_info(name: str, rows: int) -> bytes:
    shape = b"".join(block(1, number(1, dim)) for dim in (rows, SIZE))
    return block(1, name) + block(2, block(1, number(1, 1) + block(2, shape)))


def products(layers: int) -> bytes:
    """A model of that many matrix products, as the bytes of its file."""
    weights = np.random.default_rng(0).normal(0, SIZE**-0.5, (SIZE, SIZE)).astype(np.float32)
    initializer = b"".join(number(1, SIZE) for _ in range(2)) + number(2, 1) + block(8, "w") + block(9, weights.tobytes())
    names = ["x", *(f"t{i}" for i in range(layers - 1)), "y"]
    nodes = b"".join(
        block(1, block(1, names[i]) + block(1, "w") + block(2, names[i + 1]) + block(4, "MatMul")) for i in range(layers)
    )
    graph = nodes + block(2, "products") + block(5, initializer)
    graph += block(11, value_info("x", SIZE)) + block(12, value_info("y", SIZE))
    return number(1, 8) + block(7, graph) + block(8, number(2, 17))


def session_of(engine, model, threads: int):
    options = engine.SessionOptions()
    options.intra_op_num_threads = threads
    return engine.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def cpu_seconds(call, calls: int, period: float) -> tuple:
    """CPU time of the process and wall time for so many calls, one a period (0: back to back)."""
    cpu, wall = time.process_time(), time.perf_counter()
    due = wall
    for _ in range(calls):
        call()
        if period:
            due += period
            time.sleep(max(0.0, due - time.perf_counter()))
    return time.process_time() - cpu, time.perf_counter() - wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model")
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=1,3,8,8")
    parser.add_argument("--rate", type=float, default=20, help="calls per second")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--engine", default="trunnion")
    arguments = parser.parse_args()
    engine = importlib.import_module(arguments.engine)
    calls = max(1, round(arguments.seconds * arguments.rate))

    model = arguments.model
    shapes = {name: tuple(map(int, dims.split(","))) for name, _, dims in (s.rpartition("=") for s in arguments.shape)}
    if not model:
        trial = session_of(engine, products(64), 1)
        feeds = {"x": np.ones((SIZE, SIZE), np.float32)}
        cpu_seconds(lambda: trial.run(None, feeds), 5, 0)
        each = cpu_seconds(lambda: trial.run(None, feeds), 20, 0)[1] / 20 / 64
        model = products(max(1, round(1e-3 / each)))
    for threads in arguments.threads:
        session = session_of(engine, model, threads)
        feeds = {}
        for port in session.get_inputs():
            shape = shapes.get(port.name) or [dim if isinstance(dim, int) else 1 for dim in port.shape]
            feeds[port.name] = np.ones(shape, np.float32)
        call = lambda: session.run(None, feeds)  # noqa: E731
        cpu_seconds(call, 20, 0)
        busy, wall = cpu_seconds(call, calls, 0)
        idle = cpu_seconds(lambda: None, calls, 1 / arguments.rate)[0]  # this script's own waking
        paused, length = cpu_seconds(call, calls, 1 / arguments.rate)
        excess = 100 * (paused - idle - busy) / length
        print(
            f"{threads} thread(s): {1e3 * wall / calls:.2f} ms a call, {1e3 * busy / calls:.2f} ms of CPU back to back, "
            f"{1e3 * (paused - idle) / calls:.2f} ms at {arguments.rate:g} Hz: excess {excess:.2f} % of a core"
        )


if __name__ == "__main__":
    main()
