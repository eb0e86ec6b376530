"""What a model is fed: each kind of file, conversions, random values, and what is wrong with a file."""
import json
import os
import struct

import cli_models as models
import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

X = np.array([[1, -2, 3], [4, 5, 6.5]], np.float32)


def first(cli, *arguments) -> list:
    return cli.json("run", "m.onnx", *arguments, "--values", "1000")["outputs"][0]["first"]


def source(cli, *arguments) -> str:
    return cli.json("run", "m.onnx", *arguments)["inputs"][0]["source"]


def fails(cli, *arguments) -> str:
    return cli.bad(1, "run", "m.onnx", *arguments)


# Which file is for which input.


def test_npz_by_name(cli):
    cli.save(models.add())
    for save in (np.savez, np.savez_compressed):
        save(cli.folder / "f.npz", a=X, b=2 * X)
        assert first(cli, "--input", "f.npz") == (3 * X).flatten().tolist()
    assert first(cli, "--input", "a=f.npz", "--input", "b=f.npz") == (3 * X).flatten().tolist()
    np.savez(cli.folder / "one.npz", X)
    assert first(cli, "--input", "a=one.npz", "--input", "b=f.npz") == (3 * X).flatten().tolist()
    np.savez(cli.folder / "other.npz", q=X, b=X)
    assert "'q'" in fails(cli, "--input", "other.npz")
    assert "'a'" in fails(cli, "--input", "a=other.npz")


def test_input_names(cli):
    cli.save(models.add())
    np.save(cli.folder / "x.npy", X)
    line = cli.bad(2, "run", "m.onnx", "--input", "x.npy")
    assert "a, b" in line and "NAME=x.npy" in line
    assert "no input 'c'" in fails(cli, "--input", "c=x.npy")
    assert "twice" in cli.bad(2, "run", "m.onnx", "--input", "a=x.npy", "--input", "a=x.npy")
    assert "none.npy" in fails(cli, "--input", "a=none.npy")
    assert "folder" in fails(cli, "--input", "a=.")
    assert "no input 'c'" in fails(cli, "--range", "c=0:1") and "no input 'c'" in fails(cli, "--shape", "c=1")


def test_names_and_paths_with_an_equals_sign(cli):
    made = models.add()
    made.graph.input[0].name = made.graph.node[0].input[0] = "a=b"
    made.graph.input[1].name = made.graph.node[0].input[1] = "a"
    cli.save(made)
    np.save(cli.folder / "x=1.npy", X)
    np.save(cli.folder / "two.npy", 2 * X)
    assert first(cli, "--input", "a=b=x=1.npy", "--input", "a=two.npy") == (3 * X).flatten().tolist()


def test_overridable_initializer(cli):
    cli.save(models.overridable())
    np.save(cli.folder / "x.npy", X)
    np.save(cli.folder / "bias.npy", np.ones(3, np.float32))
    assert first(cli, "--input", "x=x.npy") == (X + 10).flatten().tolist()
    assert first(cli, "--input", "x=x.npy", "--input", "bias=bias.npy") == (X + 1).flatten().tolist()
    assert first(cli, "--input", "x.npy") == (X + 10).flatten().tolist()


def test_only_regular_files(cli):
    cli.save(models.same())
    os.mkfifo(cli.folder / "pipe.npy")
    for path in ("pipe.npy", "/dev/zero"):
        assert f"{path} is no regular file" in fails(cli, "--input", path)
    assert "pipe.npy is no regular file" in fails(cli, "--labels", "pipe.npy")


def test_options_without_an_effect(cli):
    cli.save(models.add())
    np.save(cli.folder / "x.npy", X)
    files = ["--input", "a=x.npy", "--input", "b=x.npy"]

    def refused(*arguments):
        return cli.bad(2, "run", "m.onnx", *arguments)

    assert "--range is for random values: input 'a' comes" in refused(*files[:2], "--range", "a=0:5")
    assert "--range is for random values: every input" in refused(*files, "--range", "0:5")
    cli.good("run", "m.onnx", *files[:2], "--range", "0:5")
    assert "'a' is of shape [2,3] from x.npy" in refused(*files[:2], "--shape", "a=3,3")
    cli.good("run", "m.onnx", *files, "--shape", "a=2,3")
    assert "--shape [2,3] is for random values and pictures" in refused(*files, "--shape", "2,3")
    for option in (["--mean", "0.5"], ["--std", "2"], ["--bgr"], ["--scale", "1"]):
        assert f"{option[0]} is for pictures" in refused(*files, *option)
    assert "--seed" in refused("--seed", "-1") and "not negative" in refused("--seed", "-1")


def test_file_of_no_known_kind(cli):
    cli.save(models.same())
    (cli.folder / "x.txt").write_text("1 2 3")
    assert "x.txt" in fails(cli, "--input", "x.txt")


# .npy


@pytest.mark.parametrize("change", [lambda a: a.astype(">f4"), np.asfortranarray, lambda a: a[::-1][::-1]])
def test_npy_layouts(cli, change):
    cli.save(models.same(shape=["N", "M"]))
    np.save(cli.folder / "x.npy", change(X))
    assert first(cli, "--input", "x.npy") == X.flatten().tolist()


def test_npy_column_order_of_three_dimensions(cli):
    cli.save(models.same(T.INT64, shape=["a", "b", "c"]))
    values = np.arange(24).reshape(2, 3, 4)
    np.save(cli.folder / "x.npy", np.asfortranarray(values))
    assert first(cli, "--input", "x.npy") == list(range(24))
    np.save(cli.folder / "x.npy", values.transpose(2, 0, 1).copy(order="F"))
    assert first(cli, "--input", "x.npy") == values.transpose(2, 0, 1).flatten().tolist()


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npy_versions(cli, version):
    cli.save(models.same())
    with open(cli.folder / "x.npy", "wb") as file:
        np.lib.format.write_array(file, X, version=version)
    assert first(cli, "--input", "x.npy") == X.flatten().tolist()


def npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


HEADER = "{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}"


@pytest.mark.parametrize(
    "content, words",
    [
        (b"", "x.npy"),
        (b"\x93NUMPY\x01", "no .npy"),
        (b"\x93NUMPY\x09\x00\x05\x00.....", "version"),
        (b"\x93NUMPY\x01\x00\xff\xff{}", "cut short"),
        (npy("{}"), "header"),
        (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, }"), "header"),
        (npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}"), "header"),
        (npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }"), "records"),
        (npy(HEADER.format("<f4", "(3,)"), bytes(11)), "cut short"),
        (npy(HEADER.format("<f4", "(-3,)"), bytes(12)), "header"),
        (npy(HEADER.format("<f4", "(9223372036854775807, 9223372036854775807)")), "too large"),
        (npy(HEADER.format("<f4", "(1152921504606846976,)")), "x.npy"),
        (npy(HEADER.format("|O", "(1,)"), bytes(8)), "Python objects"),
        (npy(HEADER.format("<M8[ns]", "(1,)"), bytes(8)), "<M8[ns]"),
        (npy(HEADER.format("<f16", "(1,)"), bytes(16)), "<f16"),
        (npy(HEADER.format("|V4", "(1,)"), bytes(4)), "raw"),
        (npy(HEADER.format("<U0", "(9000000000,)")), "cut short"),
    ],
)
def test_bad_npy(cli, content, words):
    cli.save(models.same(shape=["N"]))
    (cli.folder / "x.npy").write_bytes(content)
    assert words in fails(cli, "--input", "x.npy")


def test_every_cut_and_flip_of_an_npz_is_survived(cli):
    cli.save(models.same())
    np.savez_compressed(cli.folder / "x.npz", x=X)
    content = (cli.folder / "x.npz").read_bytes()
    for n in range(0, len(content), 7):
        (cli.folder / "x.npz").write_bytes(content[:n])
        fails(cli, "--input", "x.npz")
        (cli.folder / "x.npz").write_bytes(content[:n] + bytes([content[n] ^ 0x55]) + content[n + 1 :])
        code, _, err = cli("run", "m.onnx", "--input", "x.npz")
        assert code in (0, 1) and err.count("\n") == code


# .pb


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("kind", [T.FLOAT, T.DOUBLE, T.INT64, T.INT32, T.UINT8, T.INT16, T.UINT64, T.UINT32, T.BOOL, T.FLOAT16])
def test_pb(cli, kind, raw):
    cli.save(models.same(kind, ["N", 3]))
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind)
    values = np.array([[1, 0, 3], [4, 5, 7]]).astype(dtype)
    proto = onnx.helper.make_tensor("anything", kind, [2, 3], values.tobytes() if raw else values.flatten(), raw=raw)
    (cli.folder / "x.pb").write_bytes(proto.SerializeToString())
    assert first(cli, "--input", "x=x.pb") == values.flatten().tolist()


def test_pb_of_strings_and_packed_elements(cli):
    cli.save(models.same(T.STRING, ["N"]))
    (cli.folder / "x.pb").write_bytes(onnx.helper.make_tensor("", T.STRING, [2], ["a", "\u00e4"]).SerializeToString())
    assert first(cli, "--input", "x.pb") == ["a", "\u00e4"]
    cli.save(models.same(T.INT4, ["N"]))
    for raw in (True, False):
        proto = onnx.helper.make_tensor("", T.INT4, [3], b"\xf1\x07" if raw else [1, -1, 7], raw=raw)
        (cli.folder / "x.pb").write_bytes(proto.SerializeToString())
        assert first(cli, "--input", "x.pb") == [1, -1, 7]


def test_bad_pb(cli):
    cli.save(models.same())
    good = onnx.numpy_helper.from_array(X)
    path = cli.folder / "x.pb"
    path.write_bytes(b"\xff" * 30)
    assert "x.pb" in fails(cli, "--input", "x.pb")
    path.write_bytes(b"")
    assert "element type" in fails(cli, "--input", "x.pb")
    short = onnx.TensorProto.FromString(good.SerializeToString())
    short.raw_data = short.raw_data[:-1]
    path.write_bytes(short.SerializeToString())
    assert "24 bytes, the file has 23" in fails(cli, "--input", "x.pb")
    negative = onnx.TensorProto.FromString(good.SerializeToString())
    negative.dims[0] = -2
    path.write_bytes(negative.SerializeToString())
    assert "negative" in fails(cli, "--input", "x.pb")
    outside = onnx.TensorProto.FromString(good.SerializeToString())
    outside.data_location = T.EXTERNAL
    path.write_bytes(outside.SerializeToString())
    assert "another file" in fails(cli, "--input", "x.pb")


def test_sequences(cli):
    cli.save(models.same_sequence())

    def second(name):
        return cli.json("run", "m.onnx", "--input", name)["outputs"][0]["elements"][1]["first"]

    (cli.folder / "s.pb").write_bytes(models.sequence_proto([X, 2 * X]))
    assert second("s=s.pb") == (2 * X).flatten().tolist()
    (cli.folder / "s.json").write_text(json.dumps([[1, 2], [3, 4.5]]))
    assert second("s.json") == [3, 4.5]
    np.savez(cli.folder / "s.npz", X, 3 * X)
    assert second("s.npz") == second("s=s.npz") == (3 * X).flatten().tolist()
    np.save(cli.folder / "s.npy", X)
    assert "seq(tensor(float))" in fails(cli, "--input", "s=s.npy")
    assert "no random values" in fails(cli)


# JSON


def test_json_lists(cli):
    cli.save(models.same(shape=["N", "M"]))
    (cli.folder / "x.json").write_text('[[1, 2.5], ["nan", "-inf"]]')
    assert first(cli, "--input", "x.json") == [1, 2.5, "nan", "-inf"]
    cli.save(models.same(T.INT64, ["N"]))
    (cli.folder / "x.json").write_text("[9223372036854775807, -9223372036854775808, 2.0, true]")
    assert first(cli, "--input", "x.json") == [2**63 - 1, -(2**63), 2, 1]
    cli.save(models.same(T.STRING, ["N"]))
    (cli.folder / "x.json").write_text('["a", "\\u00e4\\u0000b"]')
    assert first(cli, "--input", "x.json") == ["a", "\u00e4\0b"]
    cli.save(models.same(T.BOOL, []))
    (cli.folder / "x.json").write_text("true")
    assert first(cli, "--input", "x.json") == [True]
    cli.save(models.same(T.FLOAT, ["N", 0]))
    (cli.folder / "x.json").write_text("[[], []]")
    assert cli.json("run", "m.onnx", "--input", "x.json")["outputs"][0]["shape"] == [2, 0]


def test_json_object_names_its_inputs(cli):
    cli.save(models.add())
    (cli.folder / "f.json").write_text('{"a": [[1, 2, 3]], "b": [[10, 20, 30]]}')
    assert first(cli, "--input", "f.json") == [11, 22, 33]
    (cli.folder / "f.json").write_text('{"q": [1]}')
    assert "'q'" in fails(cli, "--input", "f.json")


@pytest.mark.parametrize(
    "kind, text, words",
    [
        (T.FLOAT, "", "no JSON"),
        (T.FLOAT, "[1, 2", "no JSON"),
        (T.FLOAT, "[[1, 2], [3]]", "irregular"),
        (T.FLOAT, "[1, [2]]", "irregular"),
        (T.FLOAT, "[[1], 2]", "irregular"),
        (T.FLOAT, '["many"]', "many"),
        (T.FLOAT, "[null]", "null"),
        (T.INT64, "[1.5]", "1.5"),
        (T.INT64, "[9223372036854775808]", "9223372036854775808"),
        (T.UINT8, "[256]", "256"),
        (T.UINT8, "[-1]", "-1"),
        (T.BOOL, "[2]", "2"),
        (T.STRING, "[1]", "string"),
        (T.FLOAT, "[" * 100 + "1" + "]" * 100, "nested"),
    ],
)
def test_bad_json(cli, kind, text, words):
    cli.save(models.same(kind, ["N"]))
    (cli.folder / "x.json").write_text(text)
    line = fails(cli, "--input", "x.json")
    assert words in line and "x.json" in line


# Conversions


def test_numbers_are_converted_where_the_values_allow_it(cli):
    cli.save(models.same(T.FLOAT, ["N"]))
    np.save(cli.folder / "x.npy", np.array([1, 2, 300]))
    assert source(cli, "--input", "x.npy") == "from x.npy, converted from int64"
    assert first(cli, "--input", "x.npy") == [1, 2, 300]
    cli.save(models.same(T.INT32, ["N"]))
    np.save(cli.folder / "x.npy", np.array([1.0, -2.0]))
    assert first(cli, "--input", "x.npy") == [1, -2]
    np.save(cli.folder / "x.npy", np.array([1.0, 2.5]))
    assert "2.5" in fails(cli, "--input", "x.npy")
    np.save(cli.folder / "x.npy", np.array([2**31]))
    assert "2147483648" in fails(cli, "--input", "x.npy")
    np.save(cli.folder / "x.npy", np.array(["a"]))
    assert "string" in fails(cli, "--input", "x.npy")
    np.save(cli.folder / "x.npy", np.array([1j]))
    assert "complex128" in fails(cli, "--input", "x.npy")


def test_float16_rounding(cli):
    cli.save(models.same(T.FLOAT16, ["N"]))
    random = np.random.default_rng(0)
    values = np.concatenate([
        random.standard_normal(200) * 10.0 ** random.integers(-9, 6, 200),
        [65504, 65519.99, np.inf, -np.inf, 6e-8, 2.98e-8, 2.99e-8, 0.0, 2049, 2051, 6.1e-5],
    ])
    values = values[(np.abs(values) < 65520) | np.isinf(values)]
    np.save(cli.folder / "x.npy", values)
    cli.good("run", "m.onnx", "--input", "x.npy", "--output", "o.npz")
    with np.load(cli.folder / "o.npz") as file:
        np.testing.assert_array_equal(file["y"], values.astype(np.float16))


@pytest.mark.parametrize("kind, value", [
    (T.FLOAT16, 65520), (T.FLOAT16, -1e30), (T.FLOAT, 1e39), (T.BFLOAT16, 3.4e38), (T.FLOAT8E4M3FN, 500)])
def test_numbers_beyond_the_type(cli, kind, value):
    cli.save(models.same(kind, ["N"]))
    (cli.folder / "x.json").write_text(json.dumps([1, value]))
    assert "x.json for input 'x' needs values of type" in fails(cli, "--input", "x.json")
    np.save(cli.folder / "x.npy", np.array([1, value]))
    assert "which cannot hold" in fails(cli, "--input", "x.npy")


@pytest.mark.parametrize("kind, name", [
    (T.BFLOAT16, "bfloat16"), (T.FLOAT8E4M3FN, "float8_e4m3fn"), (T.FLOAT8E5M2, "float8_e5m2"),
    (T.FLOAT8E4M3FNUZ, "float8_e4m3fnuz"), (T.FLOAT8E5M2FNUZ, "float8_e5m2fnuz"), (T.FLOAT4E2M1, "float4_e2m1fn")])
def test_rounding_to_small_types(cli, kind, name):
    dtype = np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    cli.save(models.same(kind, ["N"], opset=23))
    most = float(pytest.importorskip("ml_dtypes").finfo(dtype).max)
    random = np.random.default_rng(0)
    values = random.standard_normal(300) * 10.0 ** random.integers(-6, 3, 300)
    values = values[np.abs(values) < most].astype(np.float32)
    np.save(cli.folder / "x.npy", values)
    code, _, err = cli("run", "m.onnx", "--input", "x.npy", "--output", "o.npz")
    if code:
        pytest.skip(err)
    with np.load(cli.folder / "o.npz") as file:
        np.testing.assert_array_equal(file["y"], values.astype(dtype).astype(np.float32))


def test_shape_that_does_not_fit(cli):
    cli.save(models.same())
    np.save(cli.folder / "x.npy", np.zeros((2, 4), np.float32))
    line = fails(cli, "--input", "x.npy")
    assert "x" in line and "3" in line and "4" in line


# Random values


def test_error_says_what_was_assumed(cli):
    """Free dimensions are 1 when nothing gives their size, which not every model can take."""
    node = onnx.helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2])
    cli.save(models.model([node], [models.port("x", shape=["N", 3, "H", 8])], [models.port("y", shape=None)]))
    line = fails(cli)
    assert "free dimensions N, H a size" in line and "--shape" in line and "--dim" in line
    assert "free dimensions" not in fails(cli, "--shape", "1,3,1,8")
    cli.good("run", "m.onnx", "--dim", "H=2")


def test_random_values_without_memory_for_them(cli):
    cli.save(models.same(shape=["N", "M"]))
    line = fails(cli, "--shape", "x=2000000,2000000")
    assert line == "out of memory: input 'x' of shape [2000000,2000000] takes 16.0 TB"


def test_random_values_are_seeded(cli):
    cli.save(models.same(shape=["N", 100]))
    values = first(cli)
    assert values == first(cli, "--seed", "0") != first(cli, "--seed", "1")
    assert 0 <= min(values) < 0.1 and 0.9 < max(values) < 1 and len(set(values)) > 90
    assert source(cli) == "random in 0:1, seed 0, with N=1"


def test_random_values_do_not_depend_on_other_inputs(cli):
    cli.save(models.add())
    np.savez(cli.folder / "f.npz", a=np.zeros((1, 3), np.float32))
    b = np.array(first(cli, "--input", "f.npz"))
    a_and_b = np.array(first(cli))
    np.savez(cli.folder / "f.npz", b=np.zeros((1, 3), np.float32))
    a = np.array(first(cli, "--input", "f.npz"))
    np.testing.assert_allclose(a + b, a_and_b, rtol=1e-6)
    assert (a != b).all()


def test_range(cli):
    cli.save(models.same(T.INT32, [500]))
    assert set(first(cli)) == {0, 1}
    assert set(first(cli, "--range=-2:3")) == set(range(-2, 4))
    assert set(first(cli, "--range", "7:7")) == {7}
    assert set(first(cli, "--range", "0:9", "--range", "x=3:4")) == {3, 4}
    assert "0.2:0.8" in fails(cli, "--range", "0.2:0.8")
    cli.save(models.same(T.UINT8, [500]))
    values = first(cli, "--range=-10:1000")
    assert min(values) < 20 and max(values) > 235
    assert "uint8" in fails(cli, "--range=-10:-1")
    cli.save(models.same(T.UINT64, [50]))
    assert max(first(cli, "--range", "0:1e30")) > 2**62
    cli.save(models.same(T.INT64, [50]))
    assert min(first(cli, "--range=-1e30:1e30")) < -(2**62)
    cli.save(models.same(T.BOOL, [50]))
    assert set(first(cli)) == {True, False}
    cli.save(models.same(T.DOUBLE, [50]))
    assert all(-3 <= v < -1 for v in first(cli, "--range=-3:-1"))


def test_shapes_of_random_values(cli):
    cli.save(models.add())
    facts = cli.json("run", "m.onnx", "--shape", "4x3")
    assert [i["shape"] for i in facts["inputs"]] == [[4, 3], [4, 3]]
    facts = cli.json("run", "m.onnx", "--shape", "1,3", "--shape", "a=5,3", "--shape", "b=5,3")
    assert [i["shape"] for i in facts["inputs"]] == [[5, 3], [5, 3]]
    np.save(cli.folder / "a.npy", np.zeros((7, 3), np.float32))
    facts = cli.json("run", "m.onnx", "--input", "a=a.npy")
    assert facts["inputs"][1]["shape"] == [7, 3]  # the free dimension is a's
    cli.save(models.same(shape=None))
    assert "--shape" in fails(cli)
    assert cli.json("run", "m.onnx", "--shape", "2,2")["outputs"][0]["shape"] == [2, 2]


# Pictures


def gradient(x, y):
    return (x * 10, y * 20, 255 - x * 10)


def pixels(width, height):
    return np.array([[gradient(x, y) for x in range(width)] for y in range(height)], np.float64)


@pytest.mark.parametrize("form", ["png", "bmp", "ppm"])
def test_picture_forms(cli, form):
    cli.save(models.same(T.UINT8, ["N", 3, "H", "W"]))
    (cli.folder / f"p.{form}").write_bytes(getattr(models, form)(5, 4, gradient))
    facts = cli.json("run", "m.onnx", "--input", f"x=p.{form}", "--values", "100")
    assert facts["outputs"][0]["shape"] == [1, 3, 4, 5]
    assert facts["outputs"][0]["first"] == pixels(5, 4).transpose(2, 0, 1).flatten().astype(int).tolist()
    assert facts["inputs"][0]["source"] == f"from p.{form}: 5x4, RGB NCHW, (pixel * 1 - 0) / 1"


@pytest.mark.parametrize(
    "shape, expected",
    [
        (["N", 3, "H", "W"], lambda p: p.transpose(2, 0, 1)[None]),
        (["N", "H", "W", 3], lambda p: p[None]),
        ([1, 3, 4, 5], lambda p: p.transpose(2, 0, 1)[None]),
        ([1, 4, 5, 3], lambda p: p[None]),
        ([3, "H", "W"], lambda p: p.transpose(2, 0, 1)),
        (["H", "W", 3], lambda p: p),
        (["N", "C", "H", "W"], lambda p: p.transpose(2, 0, 1)[None]),
    ],
)
def test_picture_layouts(cli, shape, expected):
    cli.save(models.same(T.FLOAT, shape))
    (cli.folder / "p.png").write_bytes(models.png(5, 4, gradient))
    cli.good("run", "m.onnx", "--input", "p.png", "--output", "o.npz")
    with np.load(cli.folder / "o.npz") as file:
        np.testing.assert_allclose(file["y"], expected(pixels(5, 4) / 255), rtol=1e-6)


def test_gray_picture(cli):
    (cli.folder / "p.png").write_bytes(models.png(5, 4, lambda x, y: (x * 10,) * 3))
    for shape, size in ((["N", 1, "H", "W"], [1, 1, 4, 5]), (["H", "W"], [4, 5])):
        cli.save(models.same(T.UINT8, shape))
        facts = cli.json("run", "m.onnx", "--input", "p.png", "--values", "5")
        assert facts["outputs"][0]["shape"] == size and facts["outputs"][0]["first"] == [0, 10, 20, 30, 40]
        assert "gray" in facts["inputs"][0]["source"]


def test_mean_std_scale_and_order(cli):
    cli.save(models.same(T.FLOAT, [1, 3, 4, 5]))
    (cli.folder / "p.png").write_bytes(models.png(5, 4, gradient))
    mean, std = [0.4, 0.5, 0.6], [0.1, 0.2, 0.3]
    feed = ["--input", "p.png", "--output", "o.npz"]

    def result(*arguments):
        cli.good("run", "m.onnx", *feed, *arguments)
        with np.load(cli.folder / "o.npz") as file:
            return file["y"][0].transpose(1, 2, 0)

    np.testing.assert_allclose(result("--mean", "0.4,0.5,0.6", "--std", "0.1,0.2,0.3"), (pixels(5, 4) / 255 - mean) / std,
                               rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(result("--mean", "127.5", "--scale", "1"), pixels(5, 4) - 127.5, rtol=1e-6)
    np.testing.assert_allclose(result("--bgr"), pixels(5, 4)[..., ::-1] / 255, rtol=1e-6)
    assert "2 values" in cli.bad(2, "run", "m.onnx", *feed, "--mean", "1,2")
    said = source(cli, "--input", "p.png", "--mean", "0.4,0.5,0.6", "--std", "2")
    assert said == "from p.png: 5x4, RGB NCHW, (pixel * 0.00392157 - 0.4,0.5,0.6) / 2"


def test_picture_is_stretched(cli):
    cli.save(models.same(T.FLOAT, [1, 3, "H", "W"]))
    (cli.folder / "p.png").write_bytes(models.png(8, 8, lambda x, y: (200, 100, 40)))
    facts = cli.json("run", "m.onnx", "--input", "p.png", "--dim", "H=2", "--dim", "W=16", "--values", "1")
    assert facts["inputs"][0]["shape"] == [1, 3, 2, 16]
    assert "8x8 stretched to 16x2 (bilinear)" in facts["inputs"][0]["source"]
    assert abs(facts["outputs"][0]["first"][0] - 200 / 255) < 1e-3
    for shape in ("1,3,2,16", "x=1,3,2,16"):
        assert cli.json("run", "m.onnx", "--input", "p.png", "--shape", shape, "--values", "1")["inputs"] == facts["inputs"]
    assert "2 dimensions, input 'x' has 4" in fails(cli, "--input", "p.png", "--shape", "2,16")
    (cli.folder / "p.png").write_bytes(models.png(20, 10, lambda x, y: (x * 12, x * 12, x * 12)))
    values = cli.json("run", "m.onnx", "--input", "p.png", "--dim", "H=5", "--dim", "W=10", "--values", "10")["outputs"][0]["first"]
    expected = (np.arange(10) * 24 + 6) / 255
    np.testing.assert_allclose(values[1:-1], expected[1:-1], atol=2 / 255)


def test_bad_pictures(cli):
    cli.save(models.same(T.FLOAT, [1, 3, 4, 5]))
    (cli.folder / "p.png").write_bytes(models.png(5, 4, gradient)[:40])
    assert "p.png" in fails(cli, "--input", "p.png")
    (cli.folder / "p.png").write_bytes(models.png(5, 4, gradient))
    for shape, words in (([2, 3, 4, 5], "2 pictures"), ([1, 7, 4, 5], "channels"), ([1, 3, 4, 5, 6], "dimensions"), ([5], "dimensions")):
        cli.save(models.same(T.FLOAT, shape))
        assert words in fails(cli, "--input", "p.png")
    cli.save(models.same(T.STRING, [1, 3, 4, 5]))
    assert "string" in fails(cli, "--input", "p.png")
    cli.save(models.same(T.INT8, [1, 3, 4, 5]))
    assert "int8" in fails(cli, "--input", "p.png")
    first(cli, "--input", "p.png", "--mean", "128")
