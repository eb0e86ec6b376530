"""The scripts of bench/ that measure folders of models: the table they write, and the exact copy of a model."""
import importlib
import subprocess
import sys

import cli_models as models
import numpy as np
import onnx
import pytest
from conftest import ROOT
from onnx import TensorProto as T
from onnx import helper as h
from onnx.reference import ReferenceEvaluator

README = "# x\n\n<!-- bench:begin -->\nold\n<!-- bench:end -->\n\nrest\n"


def run_models(cli, *arguments):
    command = [sys.executable, ROOT / "bench/models.py", ".", "--program", cli.path, *arguments]
    return subprocess.run(list(map(str, command)), cwd=cli.folder, capture_output=True, text=True, timeout=120)


def test_a_folder_becomes_a_table_in_a_readme(cli):
    cli.save(models.matmul(), "b.onnx"), cli.save(models.same(), "a.onnx"), cli.save(models.unknown_operator(), "c.onnx")
    (cli.folder / "bench.txt").write_text("# options of models\nb.onnx --dim N=7\n")
    (cli.folder / "README.md").write_text(README)
    done = run_models(cli, "--readme", "README.md", "--json", "f.json", "--threads", "1", "--seconds", "0.05")
    assert done.returncode == 1 and "Frobnicate" in done.stderr  # one of the models does not run
    text = (cli.folder / "README.md").read_text()
    assert text.startswith("# x\n\n<!-- bench:begin -->\n") and text.endswith("<!-- bench:end -->\n\nrest\n")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert [row.split(" | ")[0] for row in rows] == ["| model", "| a", "| b", "| c"] and "fails: " in rows[3]
    assert "old" not in text and "made with `./dev python bench/models.py . " in text and "1 thread, fp32" in text
    assert '[7,3]' in (cli.folder / "f.json").read_text()


@pytest.mark.parametrize(
    "files, arguments, words",
    [
        ({}, [], "no .onnx files"),
        ({"README.md": "# x\n"}, ["--readme", "README.md", "--seconds", "0.05"], "<!-- bench:begin -->"),
        ({"bench.txt": "no.onnx --threads 1\n"}, [], "there is no no.onnx"),
        ({"README.md": README}, ["--only", "nix"], "has no nix"),
        ({"README.md": README}, ["--frob"], "--frob"),
    ],
)
def test_what_cannot_be_done_is_said(cli, files, arguments, words):
    for name, text in files.items():
        (cli.folder / name).write_text(text)
    if files:
        cli.save(models.same(), "a.onnx")
    done = run_models(cli, *arguments)
    assert done.returncode not in (0, None) and words in done.stderr and "Traceback" not in done.stderr


@pytest.fixture
def float64_model(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return importlib.import_module("float64_model")


def test_every_float_becomes_a_double(float64_model):
    w = h.make_tensor("w", T.FLOAT16, [3, 4], np.linspace(0, 1, 12).astype(np.float16))
    nodes = [
        h.make_node("Cast", ["w"], ["w32"], to=T.FLOAT),
        h.make_node("MatMul", ["x", "w32"], ["t"]),
        h.make_node("Constant", [], ["c"], value_float=0.1),
        h.make_node("Mul", ["t", "c"], ["y"]),
    ]
    made = models.model(nodes, [models.port("x")], [models.port("y", shape=["N", 4])], [w])
    wide, kept = float64_model.convert(made)
    onnx.checker.check_model(wide, full_check=True)
    x = np.random.default_rng(0).standard_normal((2, 3))
    (y,) = ReferenceEvaluator(wide).run(None, {"x": x})
    exact = x @ np.linspace(0, 1, 12).astype(np.float16).astype(np.float64).reshape(3, 4) * np.float64(np.float32(0.1))
    assert y.dtype == np.float64 and np.allclose(y, exact, rtol=1e-15, atol=0) and kept == {}
    assert made.graph.initializer[0].data_type == T.FLOAT16  # the model itself stays as it is


def test_what_has_no_double_stays_between_casts(float64_model):
    scale = h.make_tensor("scale", T.FLOAT, [], [0.5])
    zero = h.make_tensor("zero", T.UINT8, [], [3])
    nodes = [
        h.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        h.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
        h.make_node("Add", ["d", "d"], ["y"]),
    ]
    wide, kept = float64_model.convert(models.model(nodes, [models.port("x")], [models.port("y")], [scale, zero]))
    onnx.checker.check_model(wide, full_check=True)
    (y,) = ReferenceEvaluator(wide).run(None, {"x": np.array([[1.0, 2.3, -0.9]])})
    assert y.dtype == np.float64 and y.tolist() == [[2.0, 5.0, -2.0]]
    assert kept == {"QuantizeLinear": 1, "DequantizeLinear": 1}
