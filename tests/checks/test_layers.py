"""The include rule fires on what goes up or sideways, and on nothing else."""
import layers


def test_a_good_tree_is_silent(tree):
    tree.write("src/kernels/gemm.simd.cc", '#include "hwy/foreach_target.h"\n#include "base/clock.h"\n#include "kernels/gemm.h"\n')
    tree.write("src/ops/math/add.cc", '#include <vector>\n#include "kernels/gemm.h"\n#include "ops/op.h"\n')
    tree.write("src/run/run.cc", '#include "plan/program.h"\n')
    tree.write("src/abi/client/api.cc", '#include "session/session.h"\n#include "trunnion/ort_abi.h"\n')
    tree.write("cli/main.cc", '#include "trunnion/trunnion.h"\n#include "verbs.h"\n#include <hwy.h>\n')
    assert tree.found(layers.check) == []


def test_upward_include_names_file_and_line(tree):
    tree.write("src/ops/math/add.cc", '// Add.\n#include "ops/op.h"\n#include "session/session.h"\n')
    assert tree.found(layers.check) == [("src/ops/math/add.cc", 3, "ops may not include session")]


def test_sideways_include(tree):
    tree.write("src/kernels/gemm.h", '#include "tensor/tensor.h"\n')
    assert tree.found(layers.check) == [("src/kernels/gemm.h", 1, "kernels may not include tensor")]


def test_run_sees_only_one_header_of_plan(tree):
    tree.write("src/run/run.cc", '#include "plan/place.h"\n')
    assert tree.found(layers.check) == [("src/run/run.cc", 1, "run may not include plan (only plan/program.h)")]


def test_commented_include_is_no_include(tree):
    tree.write("src/base/a.cc", '// #include "session/session.h"\n/*\n#include "run/run.h"\n*/\n')
    assert tree.found(layers.check) == []


def test_relative_include(tree):
    tree.write("src/base/a.cc", '#include "clock.h"\n')
    assert [f[:2] for f in tree.found(layers.check)] == [("src/base/a.cc", 1)]


def test_public_headers_and_highway_have_their_rooms(tree):
    tree.write("src/session/a.cc", '#include "trunnion/ort_abi.h"\n')
    tree.write("src/ops/math/add.cc", "#include <hwy/highway.h>\n")
    reasons = {f[2] for f in tree.found(layers.check)}
    assert reasons == {"session may not include trunnion", "ops may not include hwy"}


def test_clients_see_nothing_of_the_source(tree):
    tree.write("cli/main.cc", '#include "session/session.h"\n')
    tree.write("bindings/python/src/module.cc", '#include "tensor/tensor.h"\n')
    assert {f[0] for f in tree.found(layers.check)} == {"cli/main.cc", "bindings/python/src/module.cc"}


def test_unknown_room(tree):
    tree.write("src/misc/a.cc", "")
    assert tree.found(layers.check) == [("src/misc/a.cc", 1, "misc is no room of layers.txt")]


def test_isa_files_include_next_to_nothing(tree):
    tree.write("src/kernels/gemm_avx2.cc", '#include <immintrin.h>\n#include <cstdint>\n#include "kernels/gemm.h"\n')
    assert tree.found(layers.check) == []
    tree.write("src/kernels/gemm_avx512.cc", '#include <algorithm>\n#include "base/clock.h"\n')
    assert [f[1] for f in tree.found(layers.check)] == [1, 2]


def test_kernels_start_no_thread_and_vector_code_owns_no_memory(tree):
    tree.write("src/kernels/sort.cc", "#include <vector>\n#include <thread>\n")
    tree.write("src/kernels/sort.simd.cc", "#include <vector>\n")
    tree.write("src/kernels/sort_test.cc", "#include <thread>\n#include <vector>\n")
    assert [f[:2] for f in tree.found(layers.check)] == [("src/kernels/sort.cc", 2), ("src/kernels/sort.simd.cc", 1)]
