"""trunnion bench: what it measures, in which forms, and how it fails."""
import html.parser
import json
import os
import pathlib
import subprocess
import sys

import cli_models as models
import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper as h

SHORT = ("--seconds", "0.05", "--threads", "1")


def two_layers():
    """y = Relu(x @ w1) @ w2, large enough that its time is not all overhead."""
    generator = np.random.default_rng(0)
    weights = [h.make_tensor(n, T.FLOAT, [64, 64], generator.standard_normal(4096).astype(np.float32)) for n in ("w1", "w2")]
    nodes = [h.make_node("MatMul", ["x", "w1"], ["a"], name="first"), h.make_node("Relu", ["a"], ["b"], name="relu"),
             h.make_node("MatMul", ["b", "w2"], ["c"], name="second"), h.make_node("Softmax", ["c"], ["y"], name="soft")]
    return models.model(nodes, [models.port("x", shape=["N", 64])], [models.port("y", shape=["N", 64])], weights)


@pytest.fixture
def net(cli):
    return cli.save(two_layers())


def ordered(times):
    return 0 < times["min_ms"] <= times["p50_ms"] <= times["p90_ms"] <= times["p99_ms"] <= times["max_ms"]


def test_json(cli, net):
    facts = cli.json("bench", net, "--dim", "N=16", *SHORT)
    assert facts["model"] == net and facts["threads"] == 1 and facts["precision"] == "fp32"
    assert "bench m.onnx --dim N=16" in facts["command"] and "[16,64]" in facts["inputs"][0]
    assert facts["load_ms"] > 0 and facts["first_run_ms"] > 0 and facts["feed_ms"] >= 0 and facts["fetch_ms"] >= 0
    assert ordered(facts["runs"]) and facts["runs"]["count"] >= 5
    assert facts["runs_per_second"] == pytest.approx(1e3 / facts["runs"]["p50_ms"], rel=1e-3)
    assert facts["peak_memory_bytes"] > 1e6 and "weights_bytes" in facts["memory"]
    assert "callers" not in facts and "against" not in facts
    assert "infer" in [step["name"] for step in facts["load_steps"]]


def test_nodes_and_the_limit(cli, net):
    facts = cli.json("bench", net, "--dim", "N=16", *SHORT)
    assert facts["rung"] in ("baseline", "avx2", "avx512") and facts["peak"]["rung"] == facts["rung"]
    peak = facts["peak"]
    assert peak["float32_flops"] > 1e8 and peak["l1_bytes"] >= peak["l2_bytes"] >= peak["l3_bytes"] >= peak["memory_bytes"] > 1e7
    products = [n for n in facts["nodes"] if n.get("flops")]
    assert sum(n["flops"] for n in products) == 2 * (2 * 16 * 64 * 64)
    assert all(n["weight_bytes"] >= 64 * 64 * 4 and n["provider"] == "CPUExecutionProvider" for n in products)
    assert {name for n in facts["nodes"] for name in n["nodes"]} == {"first", "relu", "second", "soft"}
    by_node = sum(n["limit_ms"] for n in facts["nodes"])
    assert facts["limit_ms"] == pytest.approx(by_node) and 0 < facts["fraction_of_limit"] < 3
    assert sum(o["nodes"] for o in facts["operators"]) == len(facts["nodes"])
    assert facts["profiled_runs"] >= 3
    plain = cli.json("bench", net, "--no-profile", *SHORT)
    assert "nodes" not in plain and "peak" not in plain and ordered(plain["runs"])


def test_a_loop_counts_what_its_body_does(cli):
    body = h.make_graph(
        [h.make_node("Identity", ["c"], ["go"]), h.make_node("MatMul", ["s", "w"], ["t"], name="inner")], "body",
        [h.make_tensor_value_info("i", T.INT64, []), h.make_tensor_value_info("c", T.BOOL, []), models.port("s", shape=[8, 8])],
        [h.make_tensor_value_info("go", T.BOOL, []), models.port("t", shape=[8, 8])])
    count = h.make_tensor("count", T.INT64, [], [3])
    weight = h.make_tensor("w", T.FLOAT, [8, 8], [0.1] * 64)
    made = models.model([h.make_node("Loop", ["count", "", "x"], ["y"], body=body, name="loop")],
                        [models.port("x", shape=[8, 8])], [models.port("y", shape=[8, 8])], [count, weight])
    cli.save(made)
    inner = [n for n in cli.json("bench", "m.onnx", *SHORT)["nodes"] if n["op"] == "MatMul"]
    assert len(inner) == 1 and inner[0]["calls"] == 3 and inner[0]["flops"] == 3 * 2 * 8 * 8 * 8


def test_callers(cli, net):
    facts = cli.json("bench", net, "--callers", "3", "--no-profile", *SHORT)
    callers = facts["callers"]
    assert callers["count"] == 3 and callers["runs_per_second"] > 0 and ordered(callers["runs"])


def test_text(cli, net):
    shown = cli.good("bench", net, "--nodes", "1", *SHORT)
    for words in ("m.onnx: trunnion ", "1 thread, fp32", " runs: p50 ", "load ", "first run ", "peak memory ",
                  "of the roofline", "slowest nodes", "GFLOP/s", "fp32 GFLOP/s", "random in 0:1, seed 0, with N=1"):
        assert words in shown, (words, shown)
    assert "slowest nodes" not in cli.good("bench", net, "--nodes", "0", *SHORT)


def test_markdown(cli, net):
    shown = cli.good("bench", net, "--markdown", "-", *SHORT)
    assert shown.startswith("## m.onnx: trunnion ") and "\n| operator |" in shown and "|---|---:|" in shown
    assert "`trunnion bench m.onnx --markdown - " in shown
    assert "m.onnx: trunnion" in cli.good("bench", net, "--markdown", "r.md", *SHORT)
    assert (cli.folder / "r.md").read_text().startswith("## m.onnx")


class Page(html.parser.HTMLParser):
    """Tags and what they link to; fails for tags that do not match."""

    OPEN = {"meta", "line", "rect", "link", "br"}

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.stack = [], [], []
        self.feed(text)
        self.close()
        assert not self.stack, self.stack

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href")]
        if tag not in self.OPEN or tag in ("rect", "line") and not self.get_starttag_text().endswith("/>"):
            self.stack.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.stack and self.stack.pop() == tag, tag


def test_html_needs_nothing_else(cli):
    made = two_layers()
    made.graph.node[0].name = "<first> & \"only\""
    cli.save(made)
    cli.good("bench", "m.onnx", "--html", "r.html", *SHORT)
    text = (cli.folder / "r.html").read_text()
    page = Page(text)
    assert page.tags.count("svg") == 2 and "table" in page.tags and page.links == []
    assert "<script" not in text and "<first>" not in text


def test_inputs_are_those_of_run(cli, net):
    np.save(cli.folder / "x.npy", np.ones((5, 64), np.float32))
    facts = cli.json("bench", net, "--input", "x=x.npy", "--no-profile", *SHORT)
    assert "[5,64] from x.npy" in facts["inputs"][0]
    facts = cli.json("bench", net, "--shape", "x=7,64", "--no-profile", *SHORT)
    assert "[7,64]" in facts["inputs"][0]


@pytest.mark.parametrize("level", ["strict", "fp32", "fast", "bf16"])
def test_precision(cli, net, level):
    facts = cli.json("bench", net, "--precision", level, "--dim", "N=4", *SHORT)
    assert facts["precision"] == level


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], ["MODEL", "trunnion bench --help"]),
        (["m.onnx", "--seconds", "0"], ["--seconds"]),
        (["m.onnx", "--callers", "0"], ["--callers"]),
        (["m.onnx", "--precision", "exact"], ["--precision", "strict"]),
        (["m.onnx", "--against", "tensorflow"], ["--against tensorflow", "onnxruntime", "openvino"]),
        (["m.onnx", "--dim", "N"], ["--dim", "NAME=VALUE"]),
        (["m.onnx", "--onnxruntime", "lib.so"], ["--onnxruntime lib.so", "only with --against onnxruntime"]),
        (["m.onnx", "--against", "openvino", "--onnxruntime", "lib.so"], ["only with --against onnxruntime"]),
        (["m.onnx", "--openvino", "lib.so"], ["--openvino lib.so", "only with --against openvino"]),
        (["m.onnx", "--python", "python3"], ["--python python3", "only with --against"]),
    ],
)
def test_bad_usage(cli, net, arguments, words):
    line = cli.bad(2, "bench", *arguments)
    assert all(word in line for word in words), line


@pytest.mark.parametrize("option", ["--html", "--markdown"])
def test_a_report_that_cannot_be_written_is_said_first(cli, option):
    line = cli.bad(1, "bench", "no-model.onnx", option, "no-folder/report", "--seconds", "60")
    assert "cannot write no-folder/report: No such file or directory" in line
    cli.bad(1, "bench", "no-model.onnx", option, "report")
    assert not (cli.folder / "report").exists()


def test_models_that_cannot_be_used(cli):
    assert "none.onnx" in cli.bad(1, "bench", "none.onnx", *SHORT)
    cli.save(models.unknown_operator())
    assert "Frobnicate" in cli.bad(1, "bench", "m.onnx", *SHORT)
    cli.save(models.same())
    assert "'M'" in cli.bad(1, "bench", "m.onnx", "--dim", "M=2", *SHORT)
    line = cli.bad(1, "bench", "m.onnx", "--html", "no/such/folder/r.html", *SHORT)
    assert "no/such/folder/r.html" in line


# Other engines.


def test_engines_that_are_missing_are_named(cli, net):
    """Python without packages, and no Python at all: the figures of trunnion are there all the same."""
    bare = cli.folder / "bare"
    bare.write_text(f"#!/bin/sh\nexec {sys.executable} -I -S \"$@\"\n")
    bare.chmod(0o755)
    facts = cli.json("bench", net, "--no-profile", "--against", "onnxruntime,openvino", "--python", "./bare", *SHORT)
    peers = {p["engine"]: p for p in facts["against"]}
    assert list(peers) == ["trunnion", "onnxruntime", "openvino"] and ordered(facts["runs"])
    for name in ("onnxruntime", "openvino"):
        assert f"'./bare' has no package {name}" in peers[name]["missing"] and f"--{name} PATH" in peers[name]["missing"]
    shown = cli.good("bench", net, "--no-profile", "--against", "openvino", "--python", "./no_such", *SHORT)
    assert "note: openvino: not compared: './no_such' cannot be run" in shown
    shown = cli.good("bench", net, "--no-profile", "--against", "onnxruntime", "--onnxruntime", "no.so", *SHORT)
    assert "--onnxruntime no.so: there is no such file" in shown
    (cli.folder / "no.so").write_text("no library")
    shown = cli.good("bench", net, "--no-profile", "--against", "onnxruntime", "--onnxruntime", "no.so", *SHORT)
    assert "cannot load " in shown and "no.so" in shown


def test_trunnion_is_not_compared_with_itself(cli, net):
    library = next(iter(sorted(pathlib.Path(os.path.realpath(cli.path)).parent.glob("libonnxruntime.so*"))), None)
    if library is None:
        pytest.skip("the library is not beside the program")
    shown = cli.good("bench", net, "--no-profile", "--against", "onnxruntime", "--onnxruntime", library, *SHORT)
    assert "is trunnion itself" in shown


def has_package(name: str) -> bool:
    code = f"import importlib.metadata as m; m.version('{name}')"
    return subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


@pytest.mark.parametrize("name", ["onnxruntime", "openvino"])
def test_compared_with(cli, net, name):
    if not has_package(name):
        pytest.skip(f"{name} is not installed")
    facts = cli.json("bench", net, "--no-profile", "--dim", "N=4", "--against", name, "--python", sys.executable, *SHORT)
    ours, theirs = facts["against"]
    if "missing" in theirs:
        pytest.skip(theirs["missing"])
    assert ordered(theirs["runs"]) and ordered(ours["runs"]) and theirs["load_ms"] > 0
    ratio = theirs["ratio"]
    assert 0 < ratio["low"] <= ratio["median"] <= ratio["high"] and theirs["difference"] < 1e-5
    shown = cli.good("bench", net, "--no-profile", "--against", name, "--python", sys.executable, *SHORT)
    assert "trunnion is faster by" in shown and name in shown


def test_the_profile_has_the_form_of_onnxruntimes(cli, net):
    """Fields that onnxruntime's own file has for the same node."""
    cli.good("run", net, "--profile", "trace", "--repeat", "1", "--threads", "1")
    (path,) = cli.folder.glob("trace_*.json")
    events = json.loads(path.read_text())
    assert {e["cat"] for e in events} == {"Session", "Node"} and {e["ph"] for e in events} == {"X"}
    names = [e["name"] for e in events]
    for name in ("model_loading_uri", "session_initialization", "model_run", "SequentialExecutor::Execute"):
        assert name in names, name
    nodes = [e for e in events if e["cat"] == "Node"]
    assert all(e["name"].endswith("_kernel_time") for e in nodes)
    for field in ("op_name", "provider", "node_index", "input_type_shape", "output_type_shape", "activation_size",
                  "parameter_size", "output_size", "thread_scheduling_stats"):
        assert all(field in e["args"] for e in nodes), field
    assert nodes[0]["args"]["output_type_shape"] == [{"float": [1, 64]}]
    assert "main_thread" in nodes[0]["args"]["thread_scheduling_stats"]
    facts = next(e["args"] for e in events if e["name"] == "session_initialization")
    assert facts["precision"] == "fp32" and facts["threads"] == "1" and facts["cpu"] in ("baseline", "avx2", "avx512")
