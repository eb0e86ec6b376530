"""The weak-symbol guard is silent on a clean micro-kernel and fires on one that instantiates shared code."""
import pathlib
import platform
import shutil

import isa_objects
import pytest

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or not shutil.which("g++"), reason="needs g++ for x86-64"
)

CLEAN = """#include <immintrin.h>
namespace trunnion::kernels::avx2 {
namespace {
template <class T> T twice(T x) { return x + x; }
inline float first(__m256 v) { return _mm256_cvtss_f32(v); }
}  // namespace
extern const float kTable;
const float kTable = 1.0f;
float run(const float* p) { return twice(first(_mm256_loadu_ps(p))); }
}  // namespace trunnion::kernels::avx2
"""


def test_clean_object(tree):
    tree.write("src/kernels/gemm/micro_avx2.cc", CLEAN)
    assert tree.found(isa_objects.check) == []


def test_shared_template(tree):
    tree.write("src/kernels/micro_avx512.cc", "#include <vector>\nint f() { std::vector<int> v(3); return v[1]; }\n")
    found = tree.found(isa_objects.check)
    assert found and all(f[0] == "src/kernels/micro_avx512.cc" and "weak symbol" in f[2] for f in found)


def test_inline_function_outside_an_unnamed_namespace(tree):
    tree.write("src/kernels/micro_avx2.cc", "inline int g(int x) { return x + 1; }\nint f(int x) { return g(x); }\n")
    assert [f[2] for f in tree.found(isa_objects.check)] == ["weak symbol in an ISA object: g(int)"]


def test_other_files_are_left_alone(tree):
    tree.write("src/kernels/plain.cc", "#include <vector>\nint f() { std::vector<int> v(3); return v[1]; }\n")
    assert tree.found(isa_objects.check) == []


def test_a_file_that_does_not_compile(tree):
    tree.write("src/kernels/micro_avx2.cc", "int f( {}\n")
    assert "does not compile" in tree.found(isa_objects.check)[0][2]


def test_flags_come_from_the_build():
    flags = isa_objects.isa_flags(pathlib.Path(__file__).resolve().parents[2] / "cmake/isa.cmake")
    assert "-mavx2" in flags["avx2"] and "-mavx512f" in flags["avx512"]
    assert set(flags["avx512"]) < set(flags["avx512vnni"])  # a reference to an earlier line is put in
