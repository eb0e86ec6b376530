"""What importing a part of onnxruntime says that trunnion does not have."""


def refuse(name):
    raise ModuleNotFoundError(
        f"{name} is no part of trunnion, which runs models: use the package onnxruntime itself for it, "
        "in an environment of its own",
        name=name,
    )
