"""No code of the library runs before it is called: the static libraries of the build hold no static initializer."""
import pathlib
import re
import subprocess

from sources import Finding

BUILD = "build/release"
OBJECT = re.compile(r"(?P<source>src/.+?\.cc)\.o$")


def check(root: pathlib.Path):
    """Findings, or a text that says why nothing could be looked at."""
    objects = sorted((root / BUILD / "CMakeFiles").glob("trn_*.dir/**/*.o"))
    if not objects:
        return f"no objects in {BUILD}: build first"
    findings = []
    for start in range(0, len(objects), 200):
        batch = [str(path) for path in objects[start : start + 200]]
        listing = subprocess.run(["nm", "-A", *batch], capture_output=True, text=True)
        for line in listing.stdout.splitlines():
            name, _, rest = line.partition(":")
            if "_GLOBAL__sub_I" not in rest:
                continue
            match = OBJECT.search(name)
            source = pathlib.Path(match["source"]) if match else pathlib.Path(name)
            if not match or (root / source).exists():  # an object whose source is gone is left over
                findings.append(Finding(source, 1, f"a static initializer ({rest.split()[-1]}): make it constexpr or local"))
    return findings
