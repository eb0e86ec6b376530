"""Three small models to try things with: mul_1.onnx, sigmoid.onnx, logreg_iris.onnx."""

import os


def get_example(name: str) -> str:
    """The path of an example model; FileNotFoundError when there is none of that name."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    if os.path.basename(name) != name or not name.endswith(".onnx") or not os.path.exists(path):
        raise FileNotFoundError(
            f"Unable to find example {name!r}: there are mul_1.onnx, sigmoid.onnx, logreg_iris.onnx"
        )
    return path
