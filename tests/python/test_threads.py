"""Threads: the GIL, many runs at once, terminate, run_async, sessions born and dying."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import pytest
from small_models import count_to, matmul, model, relu, session, tensor

import trunnion as ort
from trunnion import errors


@pytest.fixture(scope="module")
def layers():
    return matmul(256, 40)


def test_many_threads_on_one_session(layers):
    made, weights = layers
    s = session(made)
    random = np.random.default_rng(2)
    inputs = [random.standard_normal((rows, 256)).astype(np.float32) for rows in (1, 7, 32)]
    expected = [s.run(None, {"t0": x})[0] for x in inputs]
    for x, y in zip(inputs, expected):
        for w in weights:
            x = x @ w
        np.testing.assert_allclose(y, x, rtol=1e-2, atol=1e-3)

    def work(k):
        for i in range(20):
            x, y = inputs[(i + k) % 3], expected[(i + k) % 3]
            assert np.array_equal(s.run(None, {"t0": x})[0], y)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def test_sessions_come_and_go_beside_runs(layers):
    s = session(layers[0])
    x = np.ones((4, 256), np.float32)
    expected = s.run(None, {"t0": x})[0]
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            np.testing.assert_array_equal(
                session(relu()).run(None, {"X": np.ones((1, 3), np.float32)})[0], np.ones((1, 3))
            )

    threads = [threading.Thread(target=churn) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        np.testing.assert_array_equal(s.run(None, {"t0": x})[0], expected)
    stop.set()
    for thread in threads:
        thread.join()


def test_replacing_the_providers_under_running_threads(layers):
    s = session(layers[0])
    x = np.ones((4, 256), np.float32)
    expected = s.run(None, {"t0": x})[0]

    def work(_):
        return all(np.array_equal(s.run(None, {"t0": x})[0], expected) for _ in range(20))

    with ThreadPoolExecutor(3) as pool:
        results = pool.map(work, range(3))
        for _ in range(3):
            s.set_providers(["CPUExecutionProvider"])
        assert all(results)


def during(action):
    """How often Python ran while `action` was under way."""
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    action()
    stop.set()
    thread.join()
    return len(ticks)


def test_the_gil_is_free_during_run():
    s = session(count_to())
    feed = {"trips": np.int64(300_000), "start": np.zeros(1, np.float32)}
    begin = time.perf_counter()
    s.run(None, feed)
    took = time.perf_counter() - begin
    feed["trips"] = np.int64(300_000 * max(1, int(0.2 / took)))
    assert during(lambda: s.run(None, feed)) > 10


def test_terminate_from_another_thread():
    s, options = session(count_to()), ort.RunOptions()
    timer = threading.Timer(0.3, lambda: setattr(options, "terminate", True))
    timer.start()
    begin = time.perf_counter()
    with pytest.raises(errors.Fail, match="Exiting due to terminate flag being set to true"):
        s.run(None, {"trips": np.int64(2**40), "start": np.zeros(1, np.float32)}, options)
    assert time.perf_counter() - begin < 20
    timer.join()
    options.terminate = False
    assert s.run(None, {"trips": np.int64(5), "start": np.zeros(1, np.float32)}, options)[0] == 5


def test_run_async():
    s = session(relu())
    done, calls = threading.Event(), []

    def callback(results, user_data, error):
        calls.append((results, user_data, error, threading.current_thread()))
        if len(calls) == 2:
            done.set()

    x = np.array([[-1, 2, 3]], np.float32)
    s.run_async(None, {"X": x}, callback, "mine")
    s.run_async(["zz"], {"X": x}, callback, "mine", ort.RunOptions())
    assert done.wait(20)
    (good,) = [call for call in calls if not call[2]]
    (bad,) = [call for call in calls if call[2]]
    np.testing.assert_array_equal(good[0][0], [[0, 2, 3]])
    assert good[1] == "mine" and bad[0] == [] and "Invalid output name" in bad[2]
    assert good[3] is not threading.main_thread()


def test_exception_in_a_callback_is_reported(monkeypatch):
    seen = threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda arguments: seen.set())
    session(relu()).run_async(None, {"X": np.ones((1, 3), np.float32)}, lambda *_: 1 / 0, None)
    assert seen.wait(20)


def test_callback_that_outlives_the_program(python):
    code = (
        "import numpy as np, trunnion as ort\n"
        "s = ort.InferenceSession(ort.datasets.get_example('mul_1.onnx'))\n"
        "s.run_async(None, {'X': np.ones((3, 2), 'f4')}, lambda r, u, e: print('called', r[0].sum(), u, e), 7)\n"
    )
    assert python(code=code).stdout.split() == ["called", "21.0", "7"]


def test_fork(python):
    code = (
        "import os, numpy as np, trunnion as ort\n"
        "s = ort.InferenceSession(ort.datasets.get_example('sigmoid.onnx'))\n"
        "x = np.zeros((3, 4, 5), 'f4')\n"
        "s.run(None, {'x': x})\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    ok = (s.run(None, {'x': x})[0] == 0.5).all() and ort.InferenceSession(ort.datasets.get_example('sigmoid.onnx'))\n"
        "    os._exit(0 if ok else 1)\n"
        "print(os.waitpid(pid, 0)[1], s.run(None, {'x': x})[0].sum())\n"
    )
    assert python(code=code).stdout.split() == ["0", "30.0"]


def forest(trees, depth, features):
    """Full binary trees with thresholds and leaves by chance."""
    random = np.random.default_rng(5)
    inner, nodes = 2**depth - 1, 2 ** (depth + 1) - 1
    columns = {k: [] for k in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")}
    votes = {k: [] for k in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(trees):
        for node in range(nodes):
            leaf = node >= inner
            columns["treeids"].append(tree)
            columns["nodeids"].append(node)
            columns["featureids"].append(0 if leaf else int(random.integers(features)))
            columns["values"].append(0.0 if leaf else float(random.standard_normal()))
            columns["modes"].append("LEAF" if leaf else "BRANCH_LEQ")
            columns["truenodeids"].append(0 if leaf else 2 * node + 1)
            columns["falsenodeids"].append(0 if leaf else 2 * node + 2)
            if leaf:
                votes["treeids"].append(tree)
                votes["nodeids"].append(node)
                votes["ids"].append(0)
                votes["weights"].append(float(random.standard_normal()))
    node = onnx.helper.make_node(
        "TreeEnsembleRegressor",
        ["X"],
        ["Y"],
        domain="ai.onnx.ml",
        n_targets=1,
        **{f"nodes_{k}": v for k, v in columns.items()},
        **{f"target_{k}": v for k, v in votes.items()},
    )
    return model(
        [node],
        [tensor("X", onnx.TensorProto.FLOAT, ["rows", features])],
        [tensor("Y", onnx.TensorProto.FLOAT, ["rows", 1])],
        ml=3,
    )


def threads(count):
    options = ort.SessionOptions()
    options.intra_op_num_threads = count
    return options


def test_threads_that_share_the_trees_of_a_row_change_no_bit():
    made = forest(500, 6, 8)
    alone, shared = session(made, threads(1)), session(made, threads(3))
    x = np.random.default_rng(1).standard_normal((40, 8)).astype(np.float32)
    expected = alone.run(None, {"X": x})[0]
    for rows in (1, 2, 3, 4, 5, 40):
        for begin in range(0, 40 - rows + 1, rows):
            part = x[begin : begin + rows]
            assert np.array_equal(shared.run(None, {"X": part})[0], expected[begin : begin + rows])
