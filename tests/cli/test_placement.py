"""trunnion doctor, explain and compare: providers, what they take, and whether they compute the same."""
import json
import os
import pathlib
import shutil
import subprocess

import cli_models as models
import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper as h

NAME = "TestExecutionProvider"


@pytest.fixture(scope="session")
def plugin(program_path) -> str:
    """NAME=PATH of the plugin that the C ABI's tests build: it takes Mul and Add of floats."""
    named = os.environ.get("TRUNNION_TEST_PLUGIN")
    path = pathlib.Path(named) if named else program_path.resolve().parent / "libabi_plugin_library.so"
    if not path.is_file():
        pytest.skip(f"the test plugin is not built: {path}")
    return f"{NAME}={path}"


def split_model():
    """z = |x * w + b| + x * w over a free dimension: no plugin takes Abs, and a connection leads around it."""
    constants = [h.make_tensor(name, T.FLOAT, [1], [value]) for name, value in (("w", 2.0), ("b", -3.0))]
    nodes = [
        h.make_node("Mul", ["x", "w"], ["m"], name="scale"),
        h.make_node("Add", ["m", "b"], ["a"], name="shift"),
        h.make_node("Abs", ["a"], ["p"], name="odd"),
        h.make_node("Add", ["p", "m"], ["z"], name="join"),
    ]
    return models.model(nodes, [models.port("x", shape=["n"])], [models.port("z", shape=["n"])], constants)


@pytest.fixture
def split(cli):
    return cli.save(split_model(), "split.onnx")


def library(folder, source, *arguments):
    """A shared library of C source."""
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler")
    (folder / "s.c").write_text(source)
    path = folder / "libmade.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", path, folder / "s.c", *arguments], check=True)
    return path


# doctor


def test_doctor(cli):
    text = cli.good("doctor")
    for part in ("trunnion ", "processor\n", "kernels", "threads\n", "extras library", "CPUExecutionProvider, built in",
                 "not installed", "pip install onnxruntime-ep-openvino",
                 "CUDAExecutionProvider: the library in onnxruntime-gpu is a part of ONNX Runtime"):
        assert part in text, part
    facts = cli.json("doctor")
    system = facts["system"]
    assert system["threads"]["default"] >= 1 and system["threads"]["allowed_cpus"] >= 1
    assert system["cpu"]["rung_in_use"] in ("baseline", "avx2", "avx512")
    assert any(d["provider"] == "CPUExecutionProvider" for d in system["devices"])


def test_doctor_says_what_was_forced(cli, monkeypatch):
    monkeypatch.setenv("TRUNNION_CPU", "baseline")
    monkeypatch.setenv("TRUNNION_NUM_THREADS", "3")
    text = cli.good("doctor")
    assert "kernels   baseline (TRUNNION_CPU=baseline; the processor has " in text
    assert "default   3, by TRUNNION_NUM_THREADS" in text and "TRUNNION_NUM_THREADS=3" in text


def test_doctor_of_a_plugin(cli, plugin):
    facts = cli.json("doctor", "--plugin", plugin)["plugins"][0]
    assert facts["usable"] and facts["factories"][0]["provider"] == NAME
    assert facts["factories"][0]["api_version"] >= 22 and facts["factories"][0]["devices"][0]["kind"] == "CPU"
    assert f"usable     {NAME}" in cli.good("doctor", "--plugin", plugin)


def unusable(cli, path) -> dict:
    code, out, _ = cli("doctor", "--json", "--plugin", f"x={path}")
    assert code == 1
    return json.loads(out)["plugins"][0]


def test_doctor_of_what_is_no_plugin(cli):
    facts = unusable(cli, "none.so")
    assert "'none.so' of execution providers does not exist" in facts["reason"] and "check the path" in facts["remedy"]
    facts = unusable(cli, library(cli.folder, "int x;"))
    assert "does not export CreateEpFactories" in facts["reason"] and facts["remedy"]


def test_doctor_names_what_is_missing(cli):
    missing = library(cli.folder, "int y;", "-Wl,-soname,libcudart.so.99")
    other = cli.folder / "other"
    other.mkdir()
    (cli.folder / "libcudart.so").symlink_to(missing)
    made = library(other, "int x;", f"-L{cli.folder}", "-Wl,--no-as-needed", "-lcudart")
    facts = unusable(cli, made)
    assert "libcudart.so.99" in facts["reason"] and "CUDA runtime" in facts["remedy"]


def test_doctor_outlives_a_library_that_crashes(cli):
    facts = unusable(cli, library(cli.folder, "__attribute__((constructor)) static void f(void) { __builtin_trap(); }"))
    assert "ends the process that loads it (signal " in facts["reason"]


def test_doctor_finds_installed_packages(cli, plugin, monkeypatch):
    folder = cli.folder / "packages/nxrt_ep_cpu"
    folder.mkdir(parents=True)
    (folder / "libonnx_runtime_ep_cpu_plugin.so").symlink_to(plugin.split("=", 1)[1])
    monkeypatch.setenv("TRUNNION_PLUGIN_PATH", str(cli.folder / "packages"))
    facts = cli.json("doctor")
    assert any(p["name"] == "cpu_ep" and p["usable"] for p in facts["plugins"])
    assert "nxrt-ep-cpu" not in [p["package"] for p in facts["not_installed"]]


# explain


def test_explain_of_the_cpu(cli, split):
    text = cli.good("explain", split)
    assert text.startswith("4 nodes: 4 CPUExecutionProvider\n") and "values that cross\n  none\n" in text
    assert "1-4     CPU: 4 nodes, Mul 'scale' to Add 'join'" in text


def test_explain_of_a_plugin(cli, split, plugin):
    text = cli.good("explain", split, "--plugin", plugin, "--dim", "n=1000")
    first = text.split("\n")[0]
    assert first == (f"4 nodes: 3 {NAME} in 2 regions, 1 CPUExecutionProvider (not on {NAME}: 1 Abs: not supported by "
                     f"{NAME}), 0 copies, 4 values of 16 kB/run handed over"), first
    assert "3       CPU: Abs 'odd'" in text and "1-2     Test region 0: 2 nodes" in text
    assert "Test -> CPU: 'a' tensor(float) [1000], 4.0 kB, handed over in the memory of the host" in text
    assert "Test: 1 node: not supported by TestExecutionProvider\n    1 Abs (odd)" in text
    assert "not Test: Abs is not supported by TestExecutionProvider" in cli.good("explain", split, "--plugin", plugin,
                                                                                  "--all")


def test_explain_as_json(cli, split, plugin):
    facts = cli.json("explain", split, "--plugin", plugin)
    assert facts == json.loads(cli.good("explain", split, "--plugin", plugin, "--json", "-"))
    cli.good("explain", split, "--plugin", plugin, "--json", "f.json")
    assert json.loads((cli.folder / "f.json").read_text())["nodes"] == facts["nodes"]
    assert [n["provider"] for n in facts["nodes"]] == [NAME, NAME, "CPUExecutionProvider", NAME]
    assert [n.get("region") for n in facts["nodes"]] == [0, 0, None, 1]
    names = [facts["values"][c["value"]]["name"] for c in facts["crossings"]]
    assert names == ["x", "a", "p", "z"]  # m goes from one region to another of the same provider
    assert facts["values"][0]["shape"] == ["n"] and facts["values"][0]["bytes"] is None
    assert facts["nodes"][2]["refused"][0]["provider"] == NAME


def test_explain_as_a_page(cli, split, plugin):
    assert "written to p.html" in cli.good("explain", split, "--plugin", plugin, "--html", "p.html")
    page = (cli.folder / "p.html").read_text()
    data = page.split('id="data">')[1].split("</script>")[0]
    assert len(json.loads(data)["nodes"]) == 4
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "") and "<script src" not in page


def test_names_in_a_page_stay_text(cli):
    model = split_model()
    model.graph.node[2].name = "</script><b>"
    page = cli.folder / "p.html"
    cli.good("explain", cli.save(model, "a<b>.onnx"), "--html", page)
    text = page.read_text()
    assert text.count("</script>") == 2 and "<h1>a&lt;b&gt;.onnx</h1>" in text


def test_order_of_providers(cli, split, plugin):
    text = cli.good("explain", split, "--plugin", plugin, "--providers", "cpu")
    assert text.startswith("4 nodes: 4 CPUExecutionProvider\n")
    text = cli.good("explain", split, "--plugin", plugin, "--providers", "test")
    assert text.startswith(f"4 nodes: 3 {NAME} in 2 regions")
    line = cli.bad(1, "explain", split, "--providers", "cuda")
    assert "no provider 'cuda', only CPUExecutionProvider; others come with --plugin" in line


def test_plugin_that_cannot_be_loaded(cli, split):
    line = cli.bad(1, "explain", split, "--plugin", "x=none.so")
    assert "does not exist" in line and "trunnion doctor --plugin x=none.so" in line
    assert "--plugin x" in cli.bad(2, "explain", split, "--plugin", "x")


def test_strict_placement(cli, split, plugin):
    line = cli.bad(1, "explain", split, "--plugin", plugin, "--config", "session.strict_placement=1")
    assert f"session.strict_placement is 1, but Abs 'odd' is not on {NAME} ({NAME}: Abs is not supported" in line
    line = cli.bad(1, "explain", split, "--plugin", plugin, "--providers", "test", "--config",
                   "session.disable_cpu_ep_fallback=1")
    assert "fallback to CPU EP has been explicitly disabled by the user: Abs 'odd'" in line
    line = cli.bad(1, "explain", split, "--plugin", plugin, "--config", "session.disable_cpu_ep_fallback=1")
    assert "CPUExecutionProvider is among the providers" in line


def test_placement_by_cost(cli, split, plugin):
    costs = f"session.placement_costs={NAME}:gflops=1000,gb_s=1000,node_us=0,start_us=1,copy_us=20;" \
            "CPUExecutionProvider:gflops=10,gb_s=10,node_us=4"
    text = cli.good("explain", split, "--plugin", plugin, "--dim", "n=1000", "--config", "session.placement=cost",
                    "--config", costs)
    assert text.startswith("4 nodes: 0 TestExecutionProvider, 4 CPUExecutionProvider (not on ")
    assert "refused Test from Add 'join': island of 1 node: saves " in text and ", handing over costs 60 us (3 values, 12 kB)" in text
    facts = json.loads(cli.good("explain", split, "--plugin", plugin, "--config", "session.placement=cost", "--json", "-"))
    assert len(facts["cost"]) == 2 and facts["cost"][0]["free_dimensions_as_1"]
    # Where copies cost nothing both islands gain.
    free = f"session.placement_costs={NAME}:copy_us=0,start_us=0,node_us=0,gb_s=1e9"
    text = cli.good("explain", split, "--plugin", plugin, "--config", "session.placement=cost", "--config", free)
    assert text.startswith(f"4 nodes: 3 {NAME} in 2 regions") and "kept    Test from Mul 'scale'" in text
    assert "must be order or cost, it is 'x'" in cli.bad(1, "explain", split, "--config", "session.placement=x")
    assert "where 'session.placement' is cost" in cli.bad(1, "explain", split, "--config", free)


# compare


def test_equal_levels(cli, split):
    text = cli.good("compare", split, "--candidate", "cpu:optimization=none", "--dim", "n=7")
    assert text.endswith("equal\n") and "  z  equal\n" in text
    facts = cli.json("compare", split, "--candidate", "cpu:optimization=basic,threads=2")
    assert facts["equal"] and facts["outputs"][0]["name"] == "z"


def test_plugin_computes_the_same(cli, split, plugin):
    np.save(cli.folder / "x.npy", np.linspace(-4, 4, 33, dtype=np.float32))
    text = cli.good("compare", split, "--plugin", plugin, "--candidate", "test", "--input", "x.npy")
    assert f"candidate test: 4 nodes: 3 {NAME} in 2 regions" in text and text.endswith("equal\n")


def test_rung(cli):
    name = cli.save(models.matmul())
    assert cli.good("compare", name, "--candidate", "cpu:rung=baseline", "--dim", "N=5").endswith("equal\n")


def random_model():
    """y = relu(x + r) * 2 with r drawn anew by every session."""
    nodes = [
        h.make_node("Abs", ["x"], ["a"], name="first"),
        h.make_node("RandomUniformLike", ["a"], ["r"], name="drawn"),
        h.make_node("Add", ["a", "r"], ["s"], name="sum"),
        h.make_node("Relu", ["s"], ["y"], name="last"),
    ]
    return models.model(nodes, [models.port("x")], [models.port("y")])


def test_first_difference(cli):
    name = cli.save(random_model())
    code, out, err = cli("compare", name, "--candidate", "cpu:optimization=none")
    assert (code, err) == (1, "")
    assert "y  DIFFERS: " in out and out.endswith("different\n")
    assert "of the reference differs from run to run" in out
    assert "first difference: RandomUniformLike 'drawn', node 2 of 4" in out
    assert "smallest part that shows it: 1 node" in out
    folder = cli.folder / "m-difference"
    assert sorted(p.name for p in folder.iterdir()) == ["expected.npz", "got.npz", "inputs.npz", "model.onnx"]
    assert np.load(folder / "inputs.npz")["a"].shape == (1, 3)
    code, out, _ = cli("compare", folder / "model.onnx", "--input", folder / "inputs.npz", "--candidate",
                       "cpu:optimization=none", "--no-bisect")
    assert code == 1 and "node 2" not in out
    code, out, _ = cli("compare", name, "--candidate", "cpu", "--json", "--save", "d")
    assert json.loads(out)["first_difference"]["node"] == "RandomUniformLike 'drawn'" and (cli.folder / "d").is_dir()


def test_difference_that_only_a_fusion_makes(cli, plugin):
    """The plugin is wrong where it fuses nodes with one output: not when every inner value is looked at."""
    wrong = "wrong_when_fused=" + plugin.split("=", 1)[1]
    model = split_model()
    del model.graph.node[3]
    model.graph.output[0].name = "p"
    name = cli.save(model)
    code, out, _ = cli("compare", name, "--plugin", wrong, "--candidate", "test", "--dim", "n=4")
    assert code == 1 and "values were asked for one by one" in out
    assert "first difference: Add 'shift', node 2 of 3" in out
    assert "smallest part that shows it: 2 nodes" in out
    assert np.load(cli.folder / "m-difference/got.npz")["a"] - np.load(cli.folder / "m-difference/expected.npz")["a"] \
        == pytest.approx(np.ones(4))


def test_difference_of_a_model_with_sizes_given(cli):
    name = cli.save(random_model())
    code, out, err = cli("compare", name, "--candidate", "cpu", "--dim", "N=4")
    assert (code, err) == (1, "") and "smallest part that shows it: 1 node" in out
    assert np.load(cli.folder / "m-difference/inputs.npz")["a"].shape == (4, 3)


def test_tolerances(cli):
    name = cli.save(random_model())
    assert cli("compare", name, "--candidate", "cpu", "--atol", "2")[0] == 0
    assert cli("compare", name, "--candidate", "cpu", "--atol", "1e-9", "--no-bisect")[0] == 1


def test_seeded_random_numbers_are_the_same(cli):
    name = cli.save(random_model())
    assert cli("compare", name, "--candidate", "cpu:optimization=none", "--config", "session.random_seed=1")[0] == 0


@pytest.mark.parametrize(
    "spec, words",
    [
        ("cpu:optimization=most", ["optimization may be none"]),
        ("cpu:rung=sse", ["rung may be baseline"]),
        ("cpu:threads=0", ["threads is to be"]),
        ("cpu:frob=1", ["'frob' is none of"]),
        ("cpu:optimization", ["KEY=VALUE"]),
        (":x=1", ["PROVIDER"]),
    ],
)
def test_bad_engines(cli, split, spec, words):
    line = cli.bad(2, "compare", split, "--candidate", spec)
    assert all(word in line for word in words), line


def test_engines_that_are_not_there(cli, split):
    assert "no provider 'frob'" in cli.bad(1, "compare", split, "--candidate", "frob")
    line = cli.bad(1, "compare", split, "--candidate", "cpu:session.nonsense=1")
    assert "session.nonsense" in line
    assert "--candidate" in cli.bad(2, "compare", split)
