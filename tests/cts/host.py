"""The provider under test, as sessions use it."""
from __future__ import annotations

import pathlib

import numpy as np
import trunnion

CPU = "CPUExecutionProvider"


class Wrong(Exception):
    """A result, or a behaviour, that is not what the CPU gives."""


class Host:
    def __init__(self, plugin: str | None, registration: str, provider: str | None, options: dict):
        self.plugin, self.registration, self.options = plugin, registration, options
        self.devices = None
        if plugin is None:
            self.provider = provider or CPU
            return
        folder = str(pathlib.Path(plugin).resolve().parent)
        self.options = {k: v.replace("{dir}", folder) for k, v in options.items()}
        before = {d.ep_name for d in trunnion.get_ep_devices()}
        trunnion.register_execution_provider_library(registration, plugin)
        new = [d for d in trunnion.get_ep_devices() if d.ep_name not in before and provider in (None, d.ep_name)]
        if not new:
            raise Wrong(f"the plugin {plugin} shows no device{f' of {provider}' if provider else ''}")
        self.provider = new[0].ep_name
        self.devices = new[:1]

    def close(self):
        self.devices = None
        if self.plugin is not None:
            trunnion.unregister_execution_provider_library(self.registration)

    def session(self, model, **config):
        options = quiet_options()
        for key, text in {"session.record_ep_graph_assignment_info": "1", **config}.items():
            options.add_session_config_entry(key, text)
        providers = None
        if self.devices is not None:
            options.add_provider_for_devices(self.devices, self.options)
        else:
            providers = [self.provider] if self.provider == CPU else [self.provider, CPU]
        session = trunnion.InferenceSession(source(model), sess_options=options, providers=providers)
        session.disable_fallback()
        return session

    def cpu_session(self, model):
        return trunnion.InferenceSession(source(model), sess_options=quiet_options(), providers=[CPU])

    def holds(self, session) -> list[str]:
        """Operators of the nodes that the provider runs."""
        return [n.op_type for part in session.get_provider_graph_assignment_info() if part.ep_name == self.provider for n in part.get_nodes()]


def quiet_options():
    options = trunnion.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return options


def source(model):
    return model if isinstance(model, (str, bytes)) else model.SerializeToString()


def compare(got, want, tolerance: float, what: str = "output") -> None:
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        raise Wrong(f"{what}: shape {got.shape}, the CPU gives {want.shape}")
    if got.dtype != want.dtype:
        raise Wrong(f"{what}: type {got.dtype}, the CPU gives {want.dtype}")
    if want.dtype.kind not in "fc":
        if not np.array_equal(got, want):
            raise Wrong(f"{what}: {np.sum(got != want)} of {want.size} elements differ")
    elif not np.allclose(got.astype("f8"), want.astype("f8"), rtol=tolerance, atol=tolerance, equal_nan=True):
        if not np.array_equal(np.isfinite(got), np.isfinite(want)):
            raise Wrong(f"{what}: NaN or infinity in other places")
        with np.errstate(invalid="ignore"):
            worst = np.nanmax(np.abs(got.astype("f8") - want.astype("f8")))
        raise Wrong(f"{what}: off by {worst:.3g}, more than {tolerance}")
