"""libtrunnion_extras.so, as a program sees it: beside the engine's library when there, named when missing."""

import pathlib
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from small_models import model, session, tensor

import trunnion as ort
from trunnion import _native

LIBRARY = pathlib.Path(_native.library_path())
EXTRAS = LIBRARY.resolve().parent / "libtrunnion_extras.so.1"
pytestmark = pytest.mark.own
built = pytest.mark.skipif(not EXTRAS.exists(), reason="built without libtrunnion_extras.so")


@pytest.fixture
def re2():
    """Skips where the library was built without it."""
    try:
        session(regex())
    except ort.errors.NotImplemented as error:
        pytest.skip(str(error))


def regex(pattern="a+"):
    node = h.make_node("RegexFullMatch", ["X"], ["Y"], name="words", pattern=pattern)
    return model([node], [tensor("X", T.STRING, ["n"])], [tensor("Y", T.BOOL, ["n"])])


def decoder():
    node = h.make_node("ImageDecoder", ["X"], ["Y"], name="picture", pixel_format="BGR")
    return model([node], [tensor("X", T.UINT8, ["n"])], [tensor("Y", T.UINT8, ["h", "w", 3])])


def test_the_engine_needs_none_of_its_libraries():
    needed = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True).stdout
    names = {line.split("[")[1].split(".so")[0] for line in needed.splitlines() if "(NEEDED)" in line}
    assert names and names <= {"libc", "libm", "libstdc++", "libgcc_s", "ld-linux-x86-64", "libpthread", "libdl"}


@built
def test_it_lies_beside_the_module():
    assert (pathlib.Path(ort.__file__).parent / EXTRAS.name).exists()


@built
def test_it_is_loaded_on_first_use(re2, python, tmp_path):
    onnx.save(regex(), tmp_path / "m.onnx")
    code = (
        "import trunnion, numpy as np\n"
        "loaded = lambda: 'libtrunnion_extras' in open('/proc/self/maps').read()\n"
        "assert not loaded()\n"
        f"s = trunnion.InferenceSession({str(tmp_path / 'm.onnx')!r})\n"
        "assert loaded()\n"
        "print(s.run(None, {'X': np.array(['aa', 'ab', ''], object)})[0].tolist())\n"
    )
    assert python(code=code).stdout.strip() == "[True, False, False]"


@built
def test_pictures():
    s = session(decoder())
    (pixels,) = s.run(None, {"X": np.frombuffer(b"P6 2 1 255\n\1\2\3\4\5\6", np.uint8)})
    assert pixels.tolist() == [[[3, 2, 1], [6, 5, 4]]]
    with pytest.raises(Exception, match="ImageDecoder.*picture.*no format known here"):
        s.run(None, {"X": np.zeros(9, np.uint8)})


@built
def test_a_bad_pattern_is_an_error_of_the_load(re2):
    with pytest.raises(Exception, match=r"RegexFullMatch 'words'.*attribute pattern is 'a\(', which RE2 refuses"):
        session(regex("a("))


def test_without_it(python, tmp_path):
    onnx.save(regex(), tmp_path / "regex.onnx")
    onnx.save(decoder(), tmp_path / "decoder.onnx")
    for name, said in (
        ("regex", ["RegexFullMatch 'words'", "RE2", "libre2-dev", "libtrunnion_extras.so", "/nowhere/x.so"]),
        ("decoder", ["ImageDecoder 'picture'", "libjpeg-dev", "libtrunnion_extras.so", "/nowhere/x.so"]),
    ):
        code = f"import trunnion; trunnion.InferenceSession({str(tmp_path / (name + '.onnx'))!r})"
        done = python(code=code, check=False, TRUNNION_EXTRAS_LIBRARY="/nowhere/x.so")
        assert done.returncode != 0
        for part in said:
            assert part in done.stderr
    code = "import trunnion as t; t.InferenceSession(t.datasets.get_example('mul_1.onnx')); print('ok')"
    assert python(code=code, TRUNNION_EXTRAS_LIBRARY="/nowhere/x.so").stdout.strip() == "ok"
