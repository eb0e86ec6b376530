#!/usr/bin/env python3
"""Writes src/schema/onnx_schemas.inc: the signatures of all operator versions that the installed onnx package knows.

  python tools/gen/schemas.py            write the file
  python tools/gen/schemas.py --check    compare the committed file with the installed package (for CI)

The row syntax is described in src/schema/row.h. One row a line, sorted, so that a new opset is a readable diff.
"""
import argparse
import difflib
import pathlib
import sys

import numpy as np
import onnx
from onnx import defs, helper

TARGET = pathlib.Path(__file__).resolve().parents[2] / "src" / "schema" / "onnx_schemas.inc"

SHORT = {
    "float": "f32", "uint8": "u8", "int8": "i8", "uint16": "u16", "int16": "i16", "int32": "i32", "int64": "i64",
    "string": "string", "bool": "bool", "float16": "f16", "double": "f64", "uint32": "u32", "uint64": "u64",
    "complex64": "c64", "complex128": "c128", "bfloat16": "bf16", "float8e4m3fn": "f8e4m3fn",
    "float8e4m3fnuz": "f8e4m3fnuz", "float8e5m2": "f8e5m2", "float8e5m2fnuz": "f8e5m2fnuz", "uint4": "u4",
    "int4": "i4", "float4e2m1": "f4e2m1", "float8e8m0": "f8e8m0", "uint2": "u2", "int2": "i2",
    "float6e2m3": "f6e2m3", "float6e3m2": "f6e3m2",
}
ORDER = list(SHORT.values())
# Names for groups of types, the same as in src/schema/row.cc; larger ones first.
GROUPS = [
    ("basic", "f32 u8 i8 u16 i16 i32 i64 string bool f16 f64 u32 u64 c64 c128"),
    ("num", "f32 u8 i8 u16 i16 i32 i64 f16 f64 u32 u64"),
    ("float", "f16 f32 f64"),
    ("int", "i8 i16 i32 i64"),
    ("uint", "u8 u16 u32 u64"),
    ("f8", "f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz"),
]
KINDS = {
    "FLOAT": "f", "INT": "i", "STRING": "s", "TENSOR": "t", "GRAPH": "g", "SPARSE_TENSOR": "st", "TYPE_PROTO": "tp",
    "FLOATS": "fs", "INTS": "is", "STRINGS": "ss", "TENSORS": "ts", "GRAPHS": "gs", "SPARSE_TENSORS": "sts",
    "TYPE_PROTOS": "tps",
}


def element_names(elements):
    left, out = set(elements), []
    for name, members in GROUPS:
        members = set(members.split())
        if members <= left:
            out.append(name)
            left -= members
    return out + [e for e in ORDER if e in left]


def inside(text, prefix):
    return text[len(prefix) + 1:-1] if text.startswith(prefix + "(") and text.endswith(")") else None


def type_set(types):
    """["tensor(float)", "seq(tensor(float))"] -> "f32|seq(f32)"."""
    plain, wrapped, out = [], {"seq": [], "optional": [], "sparse_tensor": []}, []
    maps = []
    for t in types:
        if (e := inside(t, "tensor")) is not None:
            plain.append(SHORT[e])
        elif (e := inside(t, "map")) is not None:
            key, value = (SHORT[x.strip()] for x in e.split(","))
            maps.append(f"map({key},{value})")
        else:
            for w in wrapped:
                if (e := inside(t, w)) is not None:
                    wrapped[w].append(e)
                    break
            else:
                raise SystemExit(f"unknown type {t}")
    out += element_names(plain) + sorted(maps)
    for w, name in (("seq", "seq"), ("optional", "opt")):
        if wrapped[w]:
            out.append(f"{name}({type_set(wrapped[w])})")
    if wrapped["sparse_tensor"]:
        out.append("sparse(" + "|".join(element_names(SHORT[e] for e in wrapped["sparse_tensor"])) + ")")
    return "|".join(out)


def param(p, constraints):
    mark = {"Single": "", "Optional": "?", "Variadic": "*"}[p.option.name]
    if mark == "*":
        mark = {0: "*", 1: "+"}.get(p.min_arity, f"+{p.min_arity}")
        mark += "" if p.is_homogeneous else "~"
    return f"{p.name}{mark}:{p.type_str if p.type_str in constraints else type_set([p.type_str])}"


def scalar(kind, value):
    if kind == "FLOAT":
        return str(np.float32(value)).removesuffix(".0")
    if kind == "INT":
        return str(value)
    text = value.decode() if isinstance(value, bytes) else value
    if "'" in text or '"' in text or "\\" in text:
        raise SystemExit(f"string default that needs quoting: {text}")
    return f"'{text}'"


def attribute(a):
    kind = a.type.name
    text = f"{a.name}{'!' if a.required else ''}:{KINDS[kind]}"
    if a.default_value.type:
        value = helper.get_attribute_value(a.default_value)
        if kind.endswith("S"):
            text += "=[" + ",".join(scalar(kind[:-1], v) for v in value) + "]"
        else:
            text += "=" + scalar(kind, value)
    return text


def row(s):
    constraints = {t.type_param_str: t for t in s.type_constraints}
    text = (s.domain + "::" if s.domain else "") + f"{s.name} {s.since_version}"
    if s.deprecated:
        text += " deprecated"
    if s.has_function:
        text += " function"
    if s.has_context_dependent_function:
        text += " context_function"
    if s.support_level.name == "EXPERIMENTAL":
        text += " experimental"
    text += " (" + ", ".join(param(p, constraints) for p in s.inputs) + ") -> ("
    text += ", ".join(param(p, constraints) for p in s.outputs) + ")"
    if s.attributes:
        text += " {" + ", ".join(attribute(a) for _, a in sorted(s.attributes.items())) + "}"
    for name, t in constraints.items():
        text += f" {name}={type_set(t.allowed_type_strs)}"
    return text


def generate():
    schemas = sorted(defs.get_all_schemas_with_history(), key=lambda s: (s.domain, s.name, s.since_version))
    newest = {domain: last for domain, (_, last) in defs.C.schema_version_map().items()}
    lines = [
        f"// Written by tools/gen/schemas.py from onnx {onnx.__version__}. Do not edit; the row syntax is in row.h.",
        f"constexpr int kMaxIrVersion = {int(onnx.IR_VERSION)};",
        "constexpr DomainRow kDomains[] = {",
        *(f'    {{"{d}", {v}}},' for d, v in sorted(newest.items())),
        "};",
        "constexpr std::string_view kRows[] = {",
        *(f'    "{row(s)}",' for s in schemas),
        "};",
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 when the file is out of date")
    args = parser.parse_args()
    text = generate()
    if not args.check:
        TARGET.write_text(text)
        return 0
    committed = TARGET.read_text() if TARGET.exists() else ""
    if committed == text:
        return 0
    sys.stdout.writelines(difflib.unified_diff(committed.splitlines(True), text.splitlines(True), str(TARGET), "generated"))
    return 1


if __name__ == "__main__":
    sys.exit(main())
