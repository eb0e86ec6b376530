"""The demo: the unmodified PyPI package rapidocr-onnxruntime reads a picture, on trunnion.

The package imports onnxruntime; trunnion.as_onnxruntime answers in its place. Run it with ./dev demo [PICTURE].
"""
import argparse
import importlib.metadata
import json
import pathlib
import subprocess
import sys
import tempfile
from typing import NamedTuple

import numpy as np
import trunnion
from trunnion.as_onnxruntime import folder, install

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
MODELS = ("det", "cls", "rec")


class Line(NamedTuple):
    box: list  # four corners, clockwise from the top left of the text
    text: str
    confidence: float


class Reading(NamedTuple):
    lines: list  # of Line
    seconds: dict  # of detection, orientation, recognition
    models: dict  # det, cls, rec -> (path, feeds of its largest run)


def watch_sessions(onnxruntime) -> dict:
    """From here on sessions note their model's path and the feeds of their largest run: {path: feeds}."""
    seen = {}

    class WatchedSession(onnxruntime.InferenceSession):
        def __init__(self, path_or_bytes, *arguments, **keywords):
            super().__init__(path_or_bytes, *arguments, **keywords)
            self.path = str(path_or_bytes)
            seen[self.path] = {}

        def run(self, output_names, input_feed, run_options=None):
            largest = seen[self.path]
            if sum(map(np.size, input_feed.values())) > sum(map(np.size, largest.values())):
                seen[self.path] = {name: np.array(value) for name, value in input_feed.items()}
            return super().run(output_names, input_feed, run_options)

    onnxruntime.InferenceSession = WatchedSession
    return seen


def read_picture(picture: pathlib.Path) -> Reading:
    """What rapidocr finds in the picture, while it takes trunnion for onnxruntime."""
    install()
    import onnxruntime

    plain_session = onnxruntime.InferenceSession
    sessions = watch_sessions(onnxruntime)
    try:
        from rapidocr_onnxruntime import RapidOCR

        found, seconds = RapidOCR()(str(picture))
    finally:
        onnxruntime.InferenceSession = plain_session
    lines = [Line(box, text, float(confidence)) for box, text, confidence in found or []]
    models = {name: (path, feeds) for name in MODELS for path, feeds in sessions.items() if f"_{name}_" in path}
    return Reading(lines, dict(zip(("detection", "orientation", "recognition"), seconds or [])), models)


def foreign_libraries() -> list:
    """Files of a stock onnxruntime package that this process has mapped; must be none."""
    maps = pathlib.Path("/proc/self/maps").read_text().splitlines()
    files = {line.split(None, 5)[5] for line in maps if len(line.split(None, 5)) == 6}
    return sorted(name for name in files if "-packages/onnxruntime/" in name)


def stock_is_installed() -> bool:
    """Whether the environment also has onnxruntime itself, beside what trunnion puts in its place."""
    own = folder()
    found = importlib.metadata.distributions(name="onnxruntime")
    return any(not str(distribution.locate_file("")).startswith(own) for distribution in found)


def annotate(picture: pathlib.Path, lines: list, target: pathlib.Path) -> None:
    """The picture with a numbered frame round each line, and the lines' text beside it."""
    from PIL import Image, ImageDraw, ImageFont

    source = Image.open(picture).convert("RGB")
    size = max(16, min(source.size) // 30)
    font = ImageFont.load_default(size)
    rows = [f"{number}  {line.text}   {line.confidence:.2f}" for number, line in enumerate(lines, 1)]
    width = int(max((font.getlength(row) for row in rows), default=0)) + 2 * size
    height = max(source.height, (2 * len(rows) + 1) * size)
    canvas = Image.new("RGB", (source.width + width, height), "white")
    canvas.paste(source, (0, 0))
    draw = ImageDraw.Draw(canvas)
    for number, line in enumerate(lines, 1):
        corners = [tuple(corner) for corner in line.box]
        draw.line(corners + corners[:1], fill="#00a05a", width=max(2, size // 8))
        left, top = min(x for x, _ in corners), min(y for _, y in corners)
        draw.rectangle((left - 1.2 * size, top, left - 0.1 * size, top + 1.2 * size), fill="#00a05a")
        draw.text((left - 0.65 * size, top + 0.6 * size), str(number), fill="white", font=font, anchor="mm")
        draw.text((source.width + size, (2 * number - 1) * size), rows[number - 1], fill="black", font=font)
    target.parent.mkdir(parents=True, exist_ok=True)
    canvas.save(target)


def annotated_name(picture: pathlib.Path) -> str:
    """own.png and own.webp do not write the same file."""
    kind = picture.suffix.lower().removeprefix(".")
    return f"{picture.stem}{'' if kind in ('', 'png') else '-' + kind}-annotated.png"


def measure(path: str, feeds: dict) -> dict:
    """Load and run times, memory and placement of one model, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        feeds_path = pathlib.Path(folder) / "feeds.npz"
        np.savez(feeds_path, **feeds)
        command = [sys.executable, str(HERE / "measure.py"), path, "--feeds", str(feeds_path), "--json"]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"measuring failed: {done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[-1])


def show(reading: Reading, picture: pathlib.Path, output: pathlib.Path) -> None:
    import onnxruntime

    print(f"picture    {picture}")
    print(f"reader     rapidocr-onnxruntime {importlib.metadata.version('rapidocr-onnxruntime')} from PyPI, unmodified")
    print(f"engine     what it imported as onnxruntime {onnxruntime.__version__} is trunnion {trunnion.__version__}")
    print(f"           (stock onnxruntime is {'installed, but not loaded' if stock_is_installed() else 'not installed'})")
    print(f"\nline  confidence  text")
    for number, line in enumerate(reading.lines, 1):
        print(f"{number:4}       {line.confidence:.3f}  {line.text}")
    seconds = ", ".join(f"{name} {value:.2f} s" for name, value in reading.seconds.items())
    print(f"{len(reading.lines)} lines found{': ' + seconds if seconds else ''}")
    annotate(picture, reading.lines, output)
    print(f"annotated  {output}\n")
    import measure as table

    print(f"{table.HEADER}   (times in ms)")
    for path, feeds in reading.models.values():
        if feeds:
            print(table.row(measure(path, feeds)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="dev demo", description="Reads the text of a picture on trunnion.")
    parser.add_argument("picture", nargs="?", type=pathlib.Path, default=HERE / "picture.png")
    parser.add_argument("--output", type=pathlib.Path, help="the annotated PNG (default build/demo/FILE-annotated.png)")
    arguments = parser.parse_args()
    sys.stdout.reconfigure(errors="replace")
    picture = arguments.picture
    if not picture.is_file():
        sys.exit(f"{picture}: {'a file with a picture is needed' if picture.exists() else 'no such file'}")
    try:
        from PIL import Image

        Image.open(picture).verify()
    except Exception as error:
        sys.exit(f"{picture}: no picture that can be read: {error}")
    try:
        reading = read_picture(picture)
    except Exception as error:  # the reader refuses some pictures, with errors of its own
        sys.exit(f"{picture}: rapidocr-onnxruntime cannot read it: {type(error).__name__}: {error}")
    if foreign := foreign_libraries():
        sys.exit(f"not trunnion alone: {foreign[0]} is loaded")
    show(reading, picture, arguments.output or ROOT / "build/demo" / annotated_name(picture))


if __name__ == "__main__":
    main()
