"""What a session tells of itself through trunnion.h; NotImplemented when another library is loaded."""

from __future__ import annotations

import json
from typing import Any

from . import _native


def placement(self: Any) -> dict:
    """Which provider took each node, and why others refused, as the engine's report."""
    return json.loads(_native.placement_json(self))


def placement_summary(self: Any) -> str:
    """The placement in a line: how many nodes each provider took; of several, with what the first did not take and
    what goes from one to another."""
    report = placement(self)
    return report["summary"] if len(report["providers"]) > 1 else summarize(report)


def load_timings(self: Any) -> dict[str, float]:
    """Milliseconds of each step of loading, in order, and "total"."""
    report = json.loads(_native.load_timings_json(self))
    timings = {step["name"]: float(step["ms"]) for step in report["steps"]}
    timings["total"] = float(report["total_ms"])
    return timings


def memory(self: Any) -> dict[str, int]:
    """Bytes that the session holds, by use."""
    return json.loads(_native.memory_json(self))


def graph_text(self: Any) -> str:
    """The graph as it is run, after all rewrites, in the engine's text form."""
    return _native.graph_text(self)


def summarize(report: dict) -> str:
    """Text of a placement report: "12 nodes on CPUExecutionProvider"."""
    parts = []
    for entry in report.get("providers", []):
        count = entry["nodes"]
        parts.append(f"{count} node{'' if count == 1 else 's'} on {entry['name']}")
    return ", ".join(parts) or "no nodes"
