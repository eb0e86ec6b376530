#!/usr/bin/env python3
"""Writes docs/c_api.md: every function of the C ABI with its state.

The functions are those of ort_api_facts.txt, what answers them is read from src/abi/vtable.inc, the tests are found by
name below tests/. EXCUSED says which answer with an error only, and why.

  c_api_doc.py            writes the page
  c_api_doc.py --check    writes nothing; fails when the page is out of date, when a function of OrtApi that has a
                          meaning here stands in no test, when one that is not written has no reason, or when fewer of
                          them than LEAST have a meaning
"""
import pathlib
import re
import sys

import ort_abi

PAGE = ort_abi.ROOT / "docs/c_api.md"
TESTS = ort_abi.ROOT / "tests"

LEAST = 380  # of OrtApi's 429

ABSENT = "the provider is not part of this build"
EXCUSED = [
    (r"SessionOptionsAppendExecutionProvider_(CUDA|CUDA_V2|ROCM|OpenVINO|OpenVINO_V2|TensorRT|TensorRT_V2|VitisAI|"
     r"MIGraphX|CANN|Dnnl)", ABSENT),
    (r"(Create|Update|Release)(CUDA|TensorRT|ROCM|CANN|Dnnl)ProviderOptions", ABSENT),
    (r"(Update|Get)(CUDA|TensorRT|ROCM|CANN|Dnnl)ProviderOptions(WithValue|ByName|AsString)", ABSENT),
    (r"(Set|Get)CurrentGpuDeviceId", "the CUDA provider is not part of this build"),
    (r"GetExecutionProviderApi", "no provider of this build has an interface of its own"),
    (r"GetTrainingApi", "there is no training through this interface: NULL, as in the builds of others without it"),
    (r"EnableOrtCustomOps", "onnxruntime-extensions are not built in; their library can be registered"),
    (r"(Create|Get)OpaqueValue", "no library of operators defines an opaque type"),
    (r"SessionReleaseCapturedGraph", "the CPU captures no graphs"),
]

# Functions that check their arguments and succeed, for there is nothing that they could do.
EMPTY = [
    (r"(En|Dis)ableTelemetryEvents|SetLanguageProjection", "there is no telemetry"),
    (r"SetSessionLogVerbosityLevel", "no message has a verbosity of its own: severities choose"),
]

# Why functions answer NOT_IMPLEMENTED: by table, and there by name.
UNWRITTEN = {
    "OrtInteropApi": [(r".*", "a CPU has no memory or semaphores of a graphics interface to import")],
    "OrtModelPackageApi": [
        (r".*", "a package chooses among providers' variants of a model; the form of its folder is not published")],
    "OrtEpApi": [
        (r"SharedPrePackedWeightCache_.*", "a provider's kernels pack weights for themselves, once for each session"),
    ],
}
# What a function that does its work leaves open.
REMARKS = {
    "EnableMemPattern": "kept; memory is planned in any case",
    "DisableMemPattern": "kept; memory is planned in any case",
    "SetSessionExecutionMode": "kept; nodes run one after the other, each on all threads",
    "SetInterOpNumThreads": "checked; nodes run one after the other, each on all threads",
    "SetGlobalInterOpNumThreads": "checked; nodes run one after the other, each on all threads",
    "SetDeterministicCompute": "results are the same bits in any case",
    "CreateArenaCfg": "checked; the allocator for CPU memory is the process's own",
    "CreateArenaCfgV2": "checked; the allocator for CPU memory is the process's own",
    "GetExperimentalFunction": "those that read and write what providers compiled; NULL for other names",
}

HEAD = """# The C API

Written by `tools/gen/c_api_doc.py` from `tools/gen/ort_api_facts.txt`, `src/abi/vtable.inc` and the tests; not edited by
hand.

`OrtGetApiBase` gives the tables of the ONNX Runtime C API in version 32. No entry is NULL, NULL handles and bad
arguments give a status, no exception leaves a function, and every `Release...` takes NULL.

States: **yes**, it does what ONNX Runtime's does, and the test named asserts it; **empty**, it checks its arguments and
succeeds, for there is nothing that it could do; **refused**, it answers with an error (or NULL) that says why; **no**, it
answers NOT_IMPLEMENTED with its name.

"""

INTRODUCTION = {
    "OrtApi": "The table of functions that clients call.",
    "OrtModelEditorApi": "Models and graphs built in memory.",
    "OrtCompileApi": "Models made ready ahead of time. The CPU compiles nothing: what comes out is the optimized model.",
    "OrtInteropApi": "Memory and semaphores of graphics interfaces: nothing for a CPU to import.",
    "OrtEpApi": "What plugin execution providers call.",
    "OrtModelPackageApi": "Packages of model variants.",
}


def reason(rows, name):
    return next((why for pattern, why in rows if re.fullmatch(pattern, name)), None)


def tests():
    """Name of a function -> the first test file that calls it."""
    found = {}
    for path in [*sorted(TESTS.glob("abi/*_test.*")), *sorted(TESTS.rglob("*.c*")), *sorted(TESTS.rglob("*.h"))]:
        for name in re.findall(r"(?:->|\.)(\w+)", path.read_text()):
            found.setdefault(name, path.name)
    return found


def page(facts):
    wired = set(re.findall(r"TRN_SLOT\((\w+), (\w+)\)", ort_abi.VTABLE.read_text()))
    tested = tests()
    summary, sections, faults = [], [], []
    for table, (_, rows) in facts.tables.items():
        if table in ("OrtApiBase", "OrtTrainingApi"):
            continue
        lines, count = [], {"yes": 0, "empty": 0, "refused": 0, "no": 0}
        for index, (since, fn) in enumerate(rows):
            refused, empty = reason(EXCUSED, fn.name), reason(EMPTY, fn.name)
            state = "no" if (table, fn.name) not in wired else "refused" if refused else "empty" if empty else "yes"
            note = refused or empty or ""
            if state == "yes":
                note = tested.get(fn.name, "")
                if not note and table == "OrtApi":
                    faults.append(f"{table}::{fn.name}: no test below tests/ calls it")
                if fn.name in REMARKS:
                    note += f"; {REMARKS[fn.name]}"
            if state == "no":
                unknown = fn.name.startswith("reserved_")
                note = "its name is not known" if unknown else reason(UNWRITTEN.get(table, []), fn.name)
                if not note:
                    faults.append(f"{table}::{fn.name}: not written, and no reason is given")
            count[state] += 1
            lines.append(f"| {index} | {fn.name} | 1.{since} | {state} | {note} |")
        if table == "OrtApi" and count["yes"] < LEAST:
            faults.append(f"OrtApi: only {count['yes']} functions have a meaning")
        summary.append(f"| {table} | {len(rows)} | {count['yes']} | {count['empty']} | {count['refused']} | {count['no']} |")
        sections.append(f"\n## {table}\n\n{INTRODUCTION.get(table, '')}\n\n| slot | function | since | state | test, or reason |\n"
                        "|---|---|---|---|---|\n" + "\n".join(lines) + "\n")
    text = HEAD + "| table | functions | yes | empty | refused | no |\n|---|---|---|---|---|---|\n" + "\n".join(summary) + "\n" + "".join(sections)
    return text, faults


def main():
    text, faults = page(ort_abi.Facts(ort_abi.FACTS))
    if "--check" not in sys.argv:
        PAGE.write_text(text)
        return 0
    failed = False
    if not PAGE.exists() or PAGE.read_text() != text:
        print(f"{PAGE} is out of date: run tools/gen/c_api_doc.py")
        failed = True
    for fault in faults:
        print(fault)
        failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
