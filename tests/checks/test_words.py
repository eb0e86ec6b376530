"""Each forbidden word is found where it is forbidden, and only there."""
import pytest
import words


def test_a_good_tree_is_silent(tree):
    tree.write("src/abi/guard.cc", "void f() { try { throw 1; } catch (...) {} }\n")
    tree.write("src/base/pool.cc", "void f() { try { g(); } catch (...) {} }\n")
    tree.write("src/base/os_linux.cc", "#include <sys/mman.h>\n#include <unistd.h>\n")
    tree.write("src/base/os_test.cc", "#include <unistd.h>\n")
    tree.write("src/passes/fold.cc", '// Nothing in src/ throws; a "catch" in words is none.\nconst char* s = "throw";\n')
    tree.write("src/ep/cpu/name.cc", 'const char* kName = "CPUExecutionProvider";\n')
    tree.write("bindings/python/trunnion/session.py", '"""Like onnxruntime."""\nimport numpy\nname = "onnxruntime"\n')
    tree.write("bindings/python/tests/test_a.py", "import onnx\n")
    assert tree.found(words.check) == []


@pytest.mark.parametrize(
    "path, text, line",
    [
        ("src/passes/fold.cc", '// Fold.\nif (name == "CPUExecutionProvider") {}\n', 2),
        ("src/passes/fold.cc", "// what CUDA cannot do\n", 1),
        ("src/passes/fold.cc", "bool for_openvino = false;\n", 1),
        ("src/ops/math/add.cc", "void f() { throw 1; }\n", 1),
        ("src/run/run.cc", "\ntry { f(); } catch (const E& e) {}\n", 2),
        ("src/run/run.cc", "auto* p = dynamic_cast<A*>(b);\n", 1),
        ("src/run/run.cc", "#include <iostream>\n", 1),
        ("src/onnx/reader.cc", "#include <vector>\n#include <sys/stat.h>\n", 2),
        ("src/base/os_things.h", "#include <fcntl.h>\n", 1),
        ("src/base/a.cc", "class FileManager {};\n", 1),
        ("src/base/a.cc", "void parse_helper();\n", 1),
        ("src/base/a.cc", "// TODO: later\n", 1),
        ("src/base/a.cc", "// ------------------------\n", 1),
        ("src/base/string_utils.cc", "", 1),
        ("tests/common/a.py", "", 1),
        ("bindings/python/trunnion/a.py", "import numpy\nimport onnxruntime.capi\n", 2),
        ("bindings/python/trunnion/a.py", "from onnx import helper\n", 1),
        ("bindings/python/trunnion/a.py", "importlib.import_module('onnx')\n", 1),
        ("bindings/python/trunnion/a.py", "def f(:\n", 1),
    ],
)
def test_a_bad_word_names_file_and_line(tree, path, text, line):
    tree.write(path, text)
    assert [f[:2] for f in tree.found(words.check)] == [(path, line)]


def test_names_that_only_look_alike(tree):
    tree.write("src/base/a.cc", "std::common_type_t<int, long> utilization, thrower, catcher; int manage; // helper\n")
    tree.write("src/passes/common_subexpression_elimination.cc", "// A term, not a drawer.\n")
    tree.write("src/passes/a.cc", "// the accelerator's acl_entry; equal to a constant\n")
    assert tree.found(words.check) == []
