"""The verbs of the command line, its options, what it prints, and how it fails."""
import json
import os
import pathlib
import shutil
import subprocess

import cli_models as models
import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h

X = np.array([[1, -2, 3], [4, 5, 6.5]], np.float32)


@pytest.fixture
def x(cli):
    np.save(cli.folder / "x.npy", X)
    return "x.npy"


# How it is called.


def test_help_and_version(cli):
    shown = cli.good("--help")
    assert "inspect" in shown and "run" in shown and "Exit codes" in shown
    for verb in ("run", "inspect"):
        text = cli.good(verb, "--help")
        assert "MODEL" in text and "--dim NAME=N" in text and "\n  trunnion " + verb in text
    assert cli.good("--version").startswith("trunnion ")


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], ["inspect", "run"]),
        (["frob"], ["'frob'", "inspect"]),
        (["--frob"], ["--frob"]),
        (["run"], ["MODEL", "trunnion run --help"]),
        (["inspect"], ["MODEL", "trunnion inspect --help"]),
        (["run", "m.onnx", "--frob"], ["--frob"]),
        (["run", "m.onnx", "extra"], ["extra"]),
        (["run", "m.onnx", "--dim", "N"], ["--dim", "NAME=VALUE"]),
        (["run", "m.onnx", "--dim", "N=x"], ["--dim N=x"]),
        (["run", "m.onnx", "--dim", "N=-1"], ["--dim N=-1"]),
        (["run", "m.onnx", "--dim", "=1"], ["--dim"]),
        (["run", "m.onnx", "--dim"], ["--dim"]),
        (["run", "m.onnx", "--range", "1"], ["--range 1", "LO:HI"]),
        (["run", "m.onnx", "--range", "a:b"], ["--range a:b"]),
        (["run", "m.onnx", "--range", "2:1"], ["--range 2:1"]),
        (["run", "m.onnx", "--range", "0:inf"], ["--range"]),
        (["run", "m.onnx", "--shape", "1,x"], ["--shape 1,x"]),
        (["run", "m.onnx", "--shape", "1,"], ["--shape"]),
        (["run", "m.onnx", "--seed", "x"], ["--seed"]),
        (["run", "m.onnx", "--repeat", "0"], ["--repeat"]),
        (["run", "m.onnx", "--threads", "-2"], ["--threads"]),
        (["run", "m.onnx", "--level", "most"], ["--level", "basic"]),
        (["run", "m.onnx", "--config", "key"], ["--config key"]),
        (["run", "m.onnx", "--top", "0"], ["--top"]),
        (["run", "m.onnx", "--std", "1,0,1"], ["--std"]),
        (["run", "m.onnx", "--output", "o.txt"], ["o.txt", ".npz"]),
        (["inspect", "m.onnx", "--level", "basic"], ["--level", "--graph"]),
        (["inspect", "m.onnx", "--repeat", "1"], ["--repeat"]),
    ],
)
def test_bad_usage(cli, arguments, words):
    cli.save(models.same())
    line = cli.bad(2, *arguments)
    assert all(word in line for word in words), line


# Models that cannot be used.


@pytest.mark.parametrize("verb", ["run", "inspect"])
def test_model_that_is_not_there(cli, verb):
    assert "none.onnx" in cli.bad(1, verb, "none.onnx")


@pytest.mark.parametrize("verb", ["run", "inspect"])
@pytest.mark.parametrize("content", [b"", b"no model at all\n", b"\x08\x0a\x3a\xff\xff\xff\xff\x0f"])
def test_file_that_is_no_model(cli, verb, content):
    (cli.folder / "bad.onnx").write_bytes(content)
    assert "bad.onnx" in cli.bad(1, verb, "bad.onnx") or not content


def test_model_that_is_a_folder(cli):
    assert str(cli.folder) in cli.bad(1, "run", cli.folder)


def test_unknown_operator_does_not_run(cli):
    cli.save(models.unknown_operator())
    assert "Frobnicate" in cli.bad(1, "run", "m.onnx")


def test_errors_of_a_model_name_its_file(cli):
    made = models.same()
    made.graph.node[0].attribute.append(h.make_attribute("alpha", 1.0))
    cli.save(made)
    line = cli.bad(1, "run", "m.onnx")
    assert line.startswith("Load model from m.onnx failed:") and "Unrecognized attribute: alpha" in line
    made = models.model([h.make_node("Frob", ["x"], ["y"], domain="com.microsoft")], [models.port("x")], [models.port("y")])
    made.opset_import.append(h.make_opsetid("com.microsoft", 1))
    cli.save(made)
    line = cli.bad(1, "run", "m.onnx")
    assert "com.microsoft:Frob(-1) is not a registered function/op: trunnion has no such operator" in line


def test_inspect_of_odd_models(cli):
    path = os.fsencode(cli.folder) + b"/b\xffad.onnx"
    onnx.save(models.same(), os.fsdecode(path))
    done = subprocess.run([cli.path, "inspect", "--json", path], capture_output=True)
    assert done.returncode == 0 and json.loads(done.stdout)["path"].endswith("/b\ufffdad.onnx")
    assert cli.bad(1, "inspect", "") == cli.bad(1, "run", "") == "the path of the model is empty"
    made = models.same()
    made.graph.input[0].name = made.graph.node[0].input[0] = "x\ny"
    cli.save(made)
    assert "  x y  tensor(float)" in cli.good("inspect", "m.onnx") and "  x y  tensor(float)" in cli.good("run", "m.onnx")
    assert "operators: 1 node\n" in cli.good("inspect", "m.onnx")
    assert "\n1 node: 1 CPU" in cli.good("run", "m.onnx")
    assert "# of\n" not in cli.good("inspect", "m.onnx", "--graph")
    del made.graph.output[:]
    cli.save(made)
    code, out, err = cli("inspect", "m.onnx")
    assert (code, err) == (1, "") and "the graph has no outputs" in out


def test_unknown_config_key_is_an_error(cli):
    cli.save(models.same())
    line = cli.bad(1, "run", "m.onnx", "--config", "session.strict_confg=1")
    assert "session.strict_confg" in line and "'session.strict_config'" in line
    code, _, err = cli("run", "m.onnx", "--config", "no.such=1", "--config", "session.strict_config=0")
    assert code == 0 and "no.such" in err and err.startswith("trunnion: warning: ")


def test_known_config_key(cli):
    cli.save(models.matmul())
    cli.good("run", "m.onnx", "--config", "session.intra_op.allow_spinning=0", "--config", "session.map_model=0")


def test_verbose_logs(cli):
    cli.save(models.same())
    code, out, err = cli("run", "m.onnx", "--verbose")
    assert code == 0 and "outputs" in out and all(line.startswith("trunnion: ") for line in err.splitlines())


def test_standard_output_that_is_full(cli):
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    cli.save(models.same())
    with open("/dev/full", "wb") as full:
        done = subprocess.run([cli.path, "run", "m.onnx"], cwd=cli.folder, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "standard output" in done.stderr


# inspect


def test_inspect_shows_what_a_model_is(cli):
    made = models.matmul()
    made.producer_name = "a tool"
    entry = made.metadata_props.add()
    entry.key, entry.value = "author", "somebody"
    cli.save(made)
    shown = cli.good("inspect", "m.onnx")
    for words in ("m.onnx: IR version 10", "ai.onnx 21", "a tool", "x  tensor(float) [N,3]", "y  tensor(float) [N,4]",
                  "2 nodes", "MatMul 1", "Relu 1", "parameters  12 (48 bytes)", "author: somebody", "no problems"):
        assert words in shown, shown


def test_inspect_json_and_dimensions(cli):
    cli.save(models.matmul())
    facts = cli.json("inspect", "m.onnx")
    assert facts["inputs"] == [{"name": "x", "type": "tensor(float)", "shape": ["N", 3]}]
    assert facts["opsets"]["ai.onnx"] == 21 and facts["parameters"] == 12 and facts["problems"] == []
    assert {"domain": "", "op": "MatMul", "count": 1} in facts["operators"]
    assert "N" in facts["flops"] and "N" in facts["activation_bytes"]
    facts = cli.json("inspect", "m.onnx", "--dim", "N=10")
    assert facts["inputs"][0]["shape"] == [10, 3]
    assert facts["flops"] == str(2 * 10 * 3 * 4) and facts["activation_bytes"] == str(2 * 10 * 4 * 4)
    shown = cli.good("inspect", "m.onnx", "--dim", "N=1000")
    assert "FLOPs       24 k\n" in shown and "32 kB" in shown


def test_inspect_names_the_dimensions_there_are(cli):
    cli.save(models.matmul())
    for verb in ("inspect", "run"):
        line = cli.bad(1, verb, "m.onnx", "--dim", "M=1")
        assert "'M'" in line and line.endswith("they have N")
    cli.save(models.same(shape=[2, 3]))
    assert "none" in cli.bad(1, "run", "m.onnx", "--dim", "M=1")


def test_dimensions_without_a_name(cli):
    cli.save(models.same(shape=[None, 3]))
    facts = cli.json("inspect", "m.onnx")
    assert facts["inputs"][0]["shape"] == ["x.0", 3] and facts["activation_bytes"] == "12*x.0"
    assert cli.json("inspect", "m.onnx", "--dim", "x.0=5")["activation_bytes"] == "60"
    assert "they have x.0" in cli.bad(1, "run", "m.onnx", "--dim", "x.1=5")
    (given,) = cli.json("run", "m.onnx", "--dim", "x.0=5")["inputs"]
    assert given["shape"] == [5, 3] and given["source"] == "random in 0:1, seed 0"
    assert cli.json("run", "m.onnx")["inputs"][0]["source"].endswith("with x.0=1")
    np.save(cli.folder / "x.npy", X)
    assert "Got: 2 Expected: 5" in cli.bad(1, "run", "m.onnx", "--dim", "x.0=5", "--input", "x.npy")


def test_constants_in_nodes_are_parameters(cli):
    w = h.make_tensor("", T.FLOAT, [3, 4], [0.5] * 12)
    nodes = [h.make_node("Constant", [], ["w"], value=w), h.make_node("MatMul", ["x", "w"], ["y"])]
    cli.save(models.model(nodes, [models.port("x")], [models.port("y", shape=["N", 4])]))
    facts = cli.json("inspect", "m.onnx", "--dim", "N=2")
    assert (facts["parameters"], facts["parameter_bytes"], facts["activation_bytes"]) == (12, 48, "32")


def test_long_expressions_are_not_printed(cli):
    names = [f"a_dimension_with_a_long_name_{i}" for i in range(5)]
    cli.save(models.same(shape=names))
    assert "results     a long expression" in cli.good("inspect", "m.onnx")
    assert names[4] in cli.json("inspect", "m.onnx")["activation_bytes"]


def test_inspect_finds_problems(cli):
    cli.save(models.unknown_operator())
    code, out, err = cli("inspect", "m.onnx")
    assert code == 1 and err == "" and "problems: 1\n" in out and "Frobnicate" in out
    code, out, err = cli("inspect", "m.onnx", "--json", "--graph")
    facts = json.loads(out)
    assert code == 1 and len(facts["problems"]) == 1 and facts["graph_text"] is None


def test_inspect_graph(cli):
    cli.save(models.matmul())
    shown = cli.good("inspect", "m.onnx", "--graph", "--level", "none")
    assert "MatMul(" in shown.split("the graph as it runs\n")[1]
    facts = cli.json("inspect", "m.onnx", "--graph", "--config", "session.map_model=0")
    assert "=> (" in facts["graph_text"]


# run


def test_run_shows_inputs_and_outputs(cli, x):
    cli.save(models.same())
    shown = cli.good("run", "m.onnx", "--input", "x=x.npy")
    assert "x  tensor(float) [2,3] from x.npy\n" in shown
    assert "y  tensor(float) [2,3]\n" in shown
    assert "min -2  max 6.5  mean 2.91667\n" in shown and "1 -2 3 4 5 6.5\n" in shown
    assert "load " in shown and "first run " in shown and "peak memory " in shown and "CPUExecutionProvider" in shown


def test_run_json(cli, x):
    cli.save(models.same())
    facts = cli.json("run", "m.onnx", "--input", x)
    assert facts["inputs"] == [{"name": "x", "type": "tensor(float)", "source": "from x.npy", "shape": [2, 3]}]
    (output,) = facts["outputs"]
    assert output["name"] == "y" and output["type"] == "tensor(float)" and output["shape"] == [2, 3]
    assert output["first"] == X.flatten().tolist() and (output["min"], output["max"]) == (-2, 6.5)
    assert abs(output["mean"] - X.mean()) < 1e-6 and output["nan"] == 0
    assert facts["load_ms"] > 0 and facts["first_run_ms"] > 0 and facts["peak_memory_bytes"] > 1 << 20
    assert facts["memory"]["cached_plans"] >= 0 and facts["load_steps"][0]["ms"] >= 0
    assert "runs" not in facts and facts["notes"] == []


def test_run_json_without_finite_numbers(cli):
    cli.save(models.same(shape=[4]))
    np.save(cli.folder / "x.npy", np.array([np.nan, np.inf, -np.inf, np.nan], np.float32))
    (output,) = cli.json("run", "m.onnx", "--input", "x.npy")["outputs"]
    assert output["first"] == ["nan", "inf", "-inf", "nan"] and (output["nan"], output["infinite"]) == (2, 2)
    assert (output["min"], output["max"], output["mean"]) == ("-inf", "inf", "nan")
    np.save(cli.folder / "x.npy", np.full(4, np.nan, np.float32))
    (output,) = cli.json("run", "m.onnx", "--input", "x.npy")["outputs"]
    assert output["min"] is None and output["mean"] is None and output["nan"] == 4
    assert "4 NaN" in cli.good("run", "m.onnx", "--input", "x.npy")


def test_values(cli):
    cli.save(models.same(T.INT64, ["N"]))
    np.save(cli.folder / "x.npy", np.arange(20))
    assert cli.json("run", "m.onnx", "--input", "x.npy", "--values", "3")["outputs"][0]["first"] == [0, 1, 2]
    assert "    0 1 2 ...\n" in cli.good("run", "m.onnx", "--input", "x.npy", "--values", "3")
    assert "..." not in cli.good("run", "m.onnx", "--input", "x.npy", "--values", "20")


def test_repeat(cli):
    cli.save(models.matmul())
    runs = cli.json("run", "m.onnx", "--repeat", "7", "--threads", "1")["runs"]
    assert runs["count"] == 7 and 0 < runs["min_ms"] <= runs["p50_ms"] <= runs["p95_ms"]
    assert ", 7 runs: min " in cli.good("run", "m.onnx", "--repeat", "7")


@pytest.mark.parametrize("level", ["none", "basic", "extended", "all"])
def test_levels(cli, x, level):
    cli.save(models.matmul())
    (output,) = cli.json("run", "m.onnx", "--input", x, "--level", level)["outputs"]
    assert output["first"] == np.repeat(X.sum(1) / 2, 4).tolist()


def test_profile(cli):
    cli.save(models.matmul())
    facts = cli.json("run", "m.onnx", "--profile", "trace", "--repeat", "2")
    name = pathlib.Path(facts["profile"]).name
    assert name.startswith("trace_")
    events = json.loads((cli.folder / name).read_text())
    assert sum(e.get("name", "").startswith("model_run") for e in events) >= 1 or len(events) > 2
    assert "profile in trace_" in cli.good("run", "m.onnx", "--profile", "trace")


def test_dimensions_fix_the_shape(cli):
    cli.save(models.same())
    assert cli.json("run", "m.onnx", "--dim", "N=5")["outputs"][0]["shape"] == [5, 3]
    np.save(cli.folder / "x.npy", X)
    cli.bad(1, "run", "m.onnx", "--dim", "N=5", "--input", "x.npy")


def test_top_and_labels(cli):
    cli.save(models.same(shape=["N", 4]))
    np.save(cli.folder / "x.npy", np.array([[0.1, 0.6, np.nan, 0.3], [9, 7, 8, 8]], np.float32))
    (cli.folder / "labels.txt").write_bytes(b"ant\nbee\r\ncow\ndog\n")
    feed = ["run", "m.onnx", "--input", "x.npy"]
    top = cli.json(*feed, "--top", "2", "--labels", "labels.txt")["outputs"][0]["top"]
    assert [[(e["index"], e["label"]) for e in row] for row in top] == [[(1, "bee"), (3, "dog")], [(0, "ant"), (2, "cow")]]
    assert cli.json(*feed, "--top", "4")["outputs"][0]["top"][0][3] == {"index": 2, "value": "nan"}
    assert len(cli.json(*feed, "--labels", "labels.txt")["outputs"][0]["top"][0]) == 4
    shown = cli.good(*feed, "--top", "1", "--labels", "labels.txt")
    assert "row 0\n" in shown and "row 1\n" in shown and "0.6      1  bee\n" in shown and "9      0  ant\n" in shown


def test_labels_that_do_not_fit_are_noted(cli):
    cli.save(models.same(shape=[1, 3, 1, 1]))
    (cli.folder / "labels.txt").write_text("ant\nbee")
    facts = cli.json("run", "m.onnx", "--labels", "labels.txt")
    assert len(facts["outputs"][0]["top"]) == 1 and len(facts["outputs"][0]["top"][0]) == 3
    assert facts["notes"] == ["labels.txt has 2 labels, the rows of output 'y' have 3 values"]
    assert "labels.txt" in cli.bad(1, "run", "none.onnx", "--labels", "no/labels.txt")


# Outputs of every kind.


def saved(cli, *arguments) -> dict:
    facts = cli.json("run", "m.onnx", *arguments, "--output", "o.npz")
    assert facts["output_file"] == "o.npz"
    with np.load(cli.folder / "o.npz") as file:
        return dict(file) | {"notes": facts["notes"]}


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
def test_types_go_through(cli, dtype):
    kind = h.np_dtype_to_tensor_dtype(np.dtype(dtype))
    cli.save(models.same(kind, ["N"]))
    limits = [np.iinfo(dtype).min, np.iinfo(dtype).max] if dtype.startswith(("int", "uint")) else [0, 1]
    values = np.array([*limits, 1], dtype)
    np.save(cli.folder / "x.npy", values)
    got = saved(cli, "--input", "x=x.npy")["y"]
    assert got.dtype == values.dtype and got.tolist() == values.tolist()
    assert cli.json("run", "m.onnx", "--input", "x.npy")["outputs"][0]["first"] == values.tolist()
    assert f"x  tensor({ {'float32': 'float', 'float64': 'double'}.get(dtype, dtype)})" in cli.good("run", "m.onnx")


@pytest.mark.parametrize(
    "kind, name, stored",
    [
        (T.BFLOAT16, "bfloat16", "float32"),
        (T.FLOAT8E4M3FN, "float8e4m3fn", "float32"),
        (T.FLOAT8E4M3FNUZ, "float8e4m3fnuz", "float32"),
        (T.FLOAT8E5M2, "float8e5m2", "float32"),
        (T.FLOAT8E5M2FNUZ, "float8e5m2fnuz", "float32"),
        (T.FLOAT4E2M1, "float4e2m1", "float32"),
        (T.INT4, "int4", "int8"),
        (T.UINT4, "uint4", "uint8"),
        (T.INT2, "int2", "int8"),
        (T.UINT2, "uint2", "uint8"),
        (T.FLOAT8E8M0, "float8e8m0", "float32"),
    ],
)
def test_types_that_numpy_lacks(cli, kind, name, stored):
    cli.save(models.same(kind, ["N"], opset=25))
    rare = {"int2": [1, -2, -1, 0, 1], "uint2": [3, 0, 1, 2, 3], "float8e8m0": [1, 0.5, 8, 2, 4]}
    values = np.array(rare.get(name) or ([1, 2, 4, 0, 6] if name == "uint4" else [1, 2, -4, 0, -6]), np.float32)
    np.save(cli.folder / "x.npy", values)
    code, _, err = cli("run", "m.onnx", "--input", "x.npy")
    if code:
        pytest.skip(err)
    got = saved(cli, "--input", "x.npy")
    assert got["y"].dtype == stored and got["y"].tolist() == values.tolist()
    named = stored.replace("float32", "float")
    assert got["notes"] == [f"output 'y' is stored as {named}: numpy has no {name}"]
    shown = cli.good("run", "m.onnx", "--input", "x.npy")
    assert f"y  tensor({name}) [5]" in shown and " ".join(f"{v:g}" for v in values) in shown
    assert "converted from float" in shown


@pytest.mark.parametrize("kind, name", [(T.BFLOAT16, "bfloat16"), (T.FLOAT8E4M3FN, "float8_e4m3fn"), (T.INT4, "int4")])
def test_raw_elements(cli, kind, name):
    dtype = np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    cli.save(models.same(kind, ["N"], opset=23))
    values = np.array([1, -2, 3, 0.5 if name != "int4" else -8, 7], np.float32)
    np.save(cli.folder / "x.npy", values.astype(dtype))
    code, out, err = cli("run", "m.onnx", "--input", "x.npy")
    if code and "x.npy" not in err:
        pytest.skip(err)
    assert code == 0, err
    assert " ".join(f"{v:g}" for v in values) in out and "converted" not in out


def test_strings(cli):
    cli.save(models.same(T.STRING, ["N"]))
    texts = ["plain", "", "gr\u00fc\u00df \U0001f600", 'with "quotes"']
    np.save(cli.folder / "x.npy", np.array(texts))
    assert saved(cli, "--input", "x.npy")["y"].tolist() == texts
    assert cli.json("run", "m.onnx", "--input", "x.npy")["outputs"][0]["first"] == texts
    assert '"plain" "" "gr' in cli.good("run", "m.onnx", "--input", "x.npy")
    np.save(cli.folder / "x.npy", np.array([b"caf\xe9", b"a"]))
    assert saved(cli, "--input", "x.npy")["y"].tolist() == [b"caf\xe9", b"a"]
    assert "string" in cli.bad(1, "run", "m.onnx")


def test_sequences(cli):
    cli.save(models.same_sequence())
    np.savez(cli.folder / "s.npz", X, X)
    x = "s.npz"
    got = saved(cli, "--input", x)
    assert got["t.0"].tolist() == X.tolist() and got["t.1"].tolist() == X.tolist()
    shown = cli.good("run", "m.onnx", "--input", x)
    assert "t  seq(tensor(float)), 2 elements\n" in shown and shown.count("tensor(float) [2,3]\n") == 2
    (output,) = cli.json("run", "m.onnx", "--input", x)["outputs"]
    assert output["type"] == "seq(tensor(float))" and [e["shape"] for e in output["elements"]] == [[2, 3]] * 2


def test_maps(cli, x):
    cli.save(models.to_map())
    code, out, err = cli("run", "m.onnx", "--input", x)
    if code:
        pytest.skip(err)
    assert "map(string,tensor(float)), 3 entries\n" in out and '"dog": -2\n' in out
    (output,) = cli.json("run", "m.onnx", "--input", x)["outputs"]
    assert output["elements"][1]["entries"] == [["cat", 4], ["dog", 5], ["eel", 6.5]]
    got = saved(cli, "--input", x)
    assert got["z.0.keys"].tolist() == ["cat", "dog", "eel"] and got["z.1.values"].tolist() == [4, 5, 6.5]


def test_zero_size_and_scalar(cli):
    cli.save(models.same(shape=["N", 0]))
    assert saved(cli)["y"].shape == (1, 0)
    assert "y  tensor(float) [1,0]\n" in cli.good("run", "m.onnx", "--top", "2")
    cli.save(models.same(shape=[]))
    got = saved(cli, "--seed", "3")["y"]
    assert got.shape == () and 0 <= got < 1


def test_output_that_cannot_be_written(cli):
    cli.save(models.same())
    assert "no/o.npz" in cli.bad(1, "run", "m.onnx", "--output", "no/o.npz")


def test_output_file_is_the_same_each_time(cli):
    cli.save(models.same())
    for name in ("a.npz", "b.npz"):
        assert f"written to {name}\n" in cli.good("run", "m.onnx", "--output", name)
    assert (cli.folder / "a.npz").read_bytes() == (cli.folder / "b.npz").read_bytes()


def test_installed_program_finds_the_library(cli):
    """bin/trunnion with lib/libonnxruntime.so.1, wherever they are put."""
    build, prefix = cli.path.resolve().parent, cli.folder / "prefix"
    library = build / "libonnxruntime.so.1"
    if not (build / "cmake_install.cmake").exists() or not shutil.which("cmake") or not library.exists():
        pytest.skip("needs a build folder")
    command = ["cmake", "--install", build, "--prefix", prefix, "--component", "cli"]
    subprocess.run(command, check=True, capture_output=True)
    (prefix / "lib").mkdir()
    shutil.copy(library.resolve(), prefix / "lib" / library.name)
    listed = subprocess.run(["ldd", prefix / "bin/trunnion"], capture_output=True, text=True).stdout
    assert f"{prefix}/bin/../lib/{library.name}" in listed
    done = subprocess.run([prefix / "bin/trunnion", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("trunnion "), done.stderr
