"""Names of execution providers, and the list of them that a session is given.

A name that exists nowhere is an error with near names. A name that ONNX Runtime knows and this machine does not have is
a warning when another listed provider is available, and an error when none is.
"""

from __future__ import annotations

import difflib
import warnings
from typing import Any, Mapping, Sequence

from . import _native

CPU = "CPUExecutionProvider"

# Every provider that ONNX Runtime 1.32 has a name for, in its order of priority.
ALL = (
    "TensorrtExecutionProvider", "CUDAExecutionProvider", "MIGraphXExecutionProvider", "OpenVINOExecutionProvider",
    "DnnlExecutionProvider", "VitisAIExecutionProvider", "QNNExecutionProvider", "NnapiExecutionProvider",
    "VSINPUExecutionProvider", "JsExecutionProvider", "CoreMLExecutionProvider", "DmlExecutionProvider",
    "RknpuExecutionProvider", "WebNNExecutionProvider", "WebGpuExecutionProvider", "XnnpackExecutionProvider",
    "CANNExecutionProvider", "AzureExecutionProvider", CPU,
)  # fmt: skip
# Older and newer names that programs list as alternatives.
OTHERS = (
    "ROCMExecutionProvider", "NvTensorRTRTXExecutionProvider", "ACLExecutionProvider", "ArmNNExecutionProvider",
    "SNPEExecutionProvider", "TvmExecutionProvider", "NupharExecutionProvider", "HabanaExecutionProvider",
)  # fmt: skip
# Built in and takes nothing: for those who write a provider. Not among the available ones, which programs hand on.
NULL = "NullExecutionProvider"

# Where the C ABI's name of a provider is not the name itself.
_ABI_NAMES = {"AzureExecutionProvider": "AZURE", "XnnpackExecutionProvider": "XNNPACK", "QNNExecutionProvider": "QNN"}


def get_available_providers() -> list[str]:
    """Names of the providers that sessions can use here, in order of priority; those of plugin libraries included."""
    names = _native.get_available_providers()
    plugins = [name for name in _plugin_devices() if name not in names]
    return plugins + names


def get_all_providers() -> list[str]:
    """Names of all providers that this version knows, whether this machine has them or not."""
    return [*(name for name in get_available_providers() if name not in ALL), *ALL]


def _plugin_devices() -> dict[str, list[int]]:
    """Devices by the name of their provider, without those of the CPU provider."""
    if not _registered:
        return {}
    devices: dict[str, list[int]] = {}
    for handle in _native.ep_devices():
        devices.setdefault(_native.describe_ep_device(handle)["ep_name"], []).append(handle)
    devices.pop(CPU, None)
    return devices


_registered: set[str] = set()  # plugin libraries; asking for devices makes the environment, so only when there are some


def register_execution_provider_library(registration_name: str, library_path: Any) -> None:
    """Loads a plugin library of execution providers; get_ep_devices() then lists its devices."""
    import os

    _native.register_provider_library(registration_name, os.fspath(library_path))
    _registered.add(registration_name)


def unregister_execution_provider_library(registration_name: str) -> None:
    """Unloads a plugin library; sessions that use it must be gone."""
    _native.unregister_provider_library(registration_name)
    _registered.discard(registration_name)


def known(name: str) -> str:
    """The name itself; ValueError with near names when it exists nowhere."""
    available = get_available_providers()
    candidates = [*available, *ALL, *OTHERS, NULL]
    if name in candidates:
        return name
    near = difflib.get_close_matches(name, candidates, n=3, cutoff=0.6)
    near += [match for match in candidates if name and name.lower() + "executionprovider" == match.lower()]
    hint = f" Did you mean {' or '.join(repr(match) for match in dict.fromkeys(near))}?" if near else ""
    raise ValueError(f"Unknown provider {name!r}.{hint} Available providers: {', '.join(available)!r}")


def append(native: Any, name: str, options: Mapping[str, Any]) -> None:
    """Adds one available provider to native options."""
    devices = _plugin_devices().get(name)
    texts = {str(key): str(value) for key, value in options.items()}
    if devices:
        native.append_devices(devices, texts)
    else:
        native.append_provider(_ABI_NAMES.get(name, name), texts)


def _entries(providers: Any, provider_options: Any) -> list[tuple[str, dict]]:
    if providers is None:
        return []
    if isinstance(providers, str):
        providers = [providers]
    providers = list(providers)
    if provider_options is not None:
        provider_options = list(provider_options)
        if len(providers) != len(provider_options):
            raise ValueError("'providers' and 'provider_options' should be the same length if both are given.")
        if not all(isinstance(name, str) for name in providers):
            raise ValueError("Only string values for 'providers' are supported if 'provider_options' is given.")
        if not all(isinstance(options, Mapping) for options in provider_options):
            raise ValueError("'provider_options' values must be dicts.")
        return [(name, dict(options)) for name, options in zip(providers, provider_options)]
    entries = []
    for item in providers:
        if isinstance(item, str):
            entries.append((item, {}))
        elif (
            isinstance(item, (tuple, list))
            and len(item) == 2
            and isinstance(item[0], str)
            and isinstance(item[1], Mapping)
        ):
            entries.append((item[0], dict(item[1])))
        else:
            raise ValueError(f"'providers' values must be either strings or (string, dict) tuples, not {item!r}.")
    return entries


def normalize(
    providers: Sequence[str | tuple[str, Mapping]] | None, provider_options: Sequence[Mapping] | None
) -> list[tuple[str, dict[str, str]]]:
    """What a session is to use, in order: available providers with their options as text."""
    available = get_available_providers()
    usable: dict[str, dict[str, str]] = {}
    missing = []
    for name, options in _entries(providers, provider_options):
        if name not in available and name != NULL:
            known(name)
            missing.append(name)
        elif name in usable:
            warnings.warn(f"Duplicate provider '{name}' encountered, ignoring.", stacklevel=4)
        else:
            usable[name] = {str(key): str(value) for key, value in options.items()}
    if missing and not usable:
        raise ValueError(
            f"None of the providers {missing} is available here. Available providers: {', '.join(available)!r}. "
            f"List '{CPU}' as well to run on the CPU where they are missing."
        )
    for name in missing:
        warnings.warn(
            f"Specified provider '{name}' is not in available provider names."
            f"Available providers: {', '.join(available)!r}",
            stacklevel=4,
        )
    return list(usable.items())
