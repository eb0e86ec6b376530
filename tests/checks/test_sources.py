"""The text that the checks look at: comments and literals are blank, everything else stays where it was."""
from sources import code_only


def test_comments_and_literals_are_blanked():
    text = 'int a; // throw\n/* throw\nthrow */ int b;\nauto s = "throw \\" throw"; char c = \'"\'; int d;\n'
    code = code_only(text)
    assert "throw" not in code
    assert code.count("\n") == text.count("\n") and len(code) == len(text)
    assert "int a;" in code and "int b;" in code and "int d;" in code


def test_raw_strings_and_digit_separators():
    code = code_only('auto s = R"x(throw ")" )x"; int n = 1\'000\'000; throw;')
    assert code.count("throw") == 1 and "1'000'000" in code


def test_includes_keep_their_names_unless_commented_out():
    code = code_only('#include "base/clock.h"\n// #include "a/b.h"\n/*\n#include "c/d.h"\n*/\n')
    assert "base/clock.h" in code and "a/b.h" not in code and "c/d.h" not in code
