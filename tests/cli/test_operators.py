"""trunnion operators, and the document that is written from it."""
import importlib.util

from conftest import ROOT


def generator():
    spec = importlib.util.spec_from_file_location("operators", ROOT / "tools/gen/operators.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_rows(cli):
    rows = {(r["domain"], r["operator"]): r for r in cli.json("operators", "--json")}
    conv = rows["ai.onnx", "Conv"]
    assert conv["versions"] == [1, 11, 22] and conv["newest"] == 22 and conv["provider"] == "CPUExecutionProvider"
    assert "float" in conv["types"] and conv["deprecated"] is None
    upsample = rows["ai.onnx", "Upsample"]
    assert upsample["deprecated"] == 10 and upsample["versions"] == [1, 7, 9, 10]
    assert rows["com.microsoft", "MatMulNBits"]["versions"] == [1]
    assert rows["ai.onnx", "If"]["types"] is None
    assert not [r for r in rows if r[0] == "trunnion"]


def test_names_and_forms(cli):
    assert cli.good("operators", "Tanh").startswith("ai.onnx::Tanh 1, 6, 13: CPUExecutionProvider, ")
    table = cli.good("operators", "ai.onnx.ml", "--markdown")
    assert table.startswith("## ai.onnx.ml\n") and "| Scaler | 1 |" in table
    code, out, err = cli("operators", "Tanhh")
    assert (code, out) == (2, "") and "'Tanhh'" in err


def test_document_is_current(cli):
    stated = (ROOT / "docs/operators.md").read_text()
    assert stated == generator().document(cli.path), "run tools/gen/operators.py"
