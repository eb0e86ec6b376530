"""Devices, memory infos and what the engine tells of execution providers' hardware."""

from __future__ import annotations

from typing import Mapping

from . import _native
from ._enums import (
    OrtAllocatorType,
    OrtDeviceMemoryType,
    OrtDeviceVendorId,
    OrtHardwareDeviceType,
    OrtMemoryInfoDeviceType,
    OrtMemType,
)

_CPU, _GPU, _FPGA, _NPU, _DML = 0, 1, 2, 3, 4
# By name: the type and the vendor that it stands for.
_KINDS = {
    "cpu": (_CPU, OrtDeviceVendorId.NONE),
    "cuda": (_GPU, OrtDeviceVendorId.NVIDIA),
    "gpu": (_GPU, OrtDeviceVendorId.NONE),
    "dml": (_GPU, OrtDeviceVendorId.MICROSOFT),
    "webgpu": (_GPU, OrtDeviceVendorId.NONE),
    "npu": (_NPU, OrtDeviceVendorId.NONE),
    "cann": (_NPU, OrtDeviceVendorId.HUAWEI),
}


class OrtDevice:
    """A device: type, memory type, vendor and number. OrtDevice.make("cpu", 0) is the usual way to one."""

    __slots__ = ("_type", "_memory", "_vendor", "_id")

    def __init__(self, device_type: int | OrtDevice, mem_type: int = 0, *rest: int) -> None:
        if isinstance(device_type, OrtDevice):
            other = device_type
            self._type, self._memory, self._vendor, self._id = other._type, other._memory, other._vendor, other._id
            return
        vendor, number = rest if len(rest) == 2 else (0, *(rest or (0,)))
        self._type, self._memory, self._vendor, self._id = int(device_type), int(mem_type), int(vendor), int(number)

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> OrtDevice:
        """A device by name: cpu, cuda, gpu, dml, webgpu, npu or cann. ValueError for another."""
        if isinstance(ort_device_name, OrtDevice):
            return ort_device_name
        kind = _KINDS.get(str(ort_device_name).lower())
        if kind is None:
            raise ValueError(f"Unsupported device type: {ort_device_name}")
        return OrtDevice(kind[0], 0, kind[1] if vendor_id < 0 else vendor_id, device_id)

    def device_id(self) -> int:
        """Its number among devices of its type."""
        return self._id

    def device_type(self) -> int:
        """0 CPU, 1 GPU, 2 FPGA, 3 NPU."""
        return self._type

    def device_vendor_id(self) -> int:
        """PCI id of the vendor, see OrtDeviceVendorId; 0 when open."""
        return self._vendor

    def device_mem_type(self) -> int:
        """0 for the device's default memory."""
        return self._memory

    vendor_id, mem_type = device_vendor_id, device_mem_type

    # Types by name, as the native class of ONNX Runtime has them.
    cpu = staticmethod(lambda: _CPU)
    cuda = gpu = webgpu = staticmethod(lambda: _GPU)
    fpga = staticmethod(lambda: _FPGA)
    npu = cann = staticmethod(lambda: _NPU)
    dml = staticmethod(lambda: _DML)
    default_memory = staticmethod(lambda: 0)

    def _get_c_device(self) -> OrtDevice:
        return self

    def _require_cpu(self) -> None:
        if self._type != _CPU:
            raise RuntimeError(
                "Can't allocate memory on the device: no execution provider here serves devices of type "
                f"{self._type}; only CPU memory can be used."
            )


class OrtMemoryInfo:
    """A kind of memory: name, allocator, device and use."""

    __slots__ = ("_native",)

    def __init__(self, name: str, allocator_type: OrtAllocatorType, device_id: int, mem_type: OrtMemType) -> None:
        self._native = _native.MemoryInfo(name, int(allocator_type), device_id, int(mem_type))

    @staticmethod
    def create_v2(
        name: str,
        device_type: OrtMemoryInfoDeviceType,
        vendor_id: int,
        device_id: int,
        device_mem_type: OrtDeviceMemoryType,
        alignment: int,
        allocator_type: OrtAllocatorType,
    ) -> OrtMemoryInfo:
        """A memory info with a vendor and an alignment (bytes, 0 for the default)."""
        made = OrtMemoryInfo.__new__(OrtMemoryInfo)
        made._native = _native.MemoryInfo._create_v2(
            name, int(device_type), vendor_id, device_id, int(device_mem_type), alignment, int(allocator_type)
        )
        return made

    @classmethod
    def _borrow(cls, handle: int) -> OrtMemoryInfo | None:
        if not handle:
            return None
        made = cls.__new__(cls)
        made._native = _native.MemoryInfo._borrow(handle)
        return made

    @property
    def name(self) -> str:
        """Its name, "Cpu" for the CPU's."""
        return self._native.name

    @property
    def device_id(self) -> int:
        """Number of the device."""
        return self._native.device_id

    @property
    def mem_type(self) -> OrtMemType:
        """What it is used for."""
        return OrtMemType(self._native._mem_type)

    @property
    def allocator_type(self) -> OrtAllocatorType:
        """Plain or arena."""
        return OrtAllocatorType(self._native._allocator_type)

    @property
    def device_mem_type(self) -> OrtDeviceMemoryType:
        """Who can reach it."""
        return OrtDeviceMemoryType(self._native._device_mem_type)

    @property
    def device_vendor_id(self) -> int:
        """PCI id of the device's vendor."""
        return self._native.device_vendor_id


class OrtArenaCfg:
    """Settings of an arena: four numbers (-1 or 0 for the default), or a dict with more of them."""

    __slots__ = (
        "max_mem", "arena_extend_strategy", "initial_chunk_size_bytes", "max_dead_bytes_per_chunk",
        "initial_growth_chunk_size_bytes", "max_power_of_two_extend_bytes",
    )  # fmt: skip

    def __init__(
        self,
        max_mem: int | Mapping[str, int],
        arena_extend_strategy: int = -1,
        initial_chunk_size_bytes: int = -1,
        max_dead_bytes_per_chunk: int = -1,
    ) -> None:
        given = max_mem if isinstance(max_mem, Mapping) else {
            "max_mem": max_mem,
            "arena_extend_strategy": arena_extend_strategy,
            "initial_chunk_size_bytes": initial_chunk_size_bytes,
            "max_dead_bytes_per_chunk": max_dead_bytes_per_chunk,
        }  # fmt: skip
        for name in self.__slots__:
            setattr(self, name, 0 if name == "max_mem" else -1)
        for name, value in given.items():
            if name not in self.__slots__:
                raise ValueError(f"Invalid OrtArenaCfg option: {name}; there are {', '.join(self.__slots__)}")
            setattr(self, name, int(value))

    def _entries(self) -> dict[str, int]:
        entries = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in entries.items() if value > 0 or (value == 0 and name != "max_mem")}


class OrtHardwareDevice:
    """A device of this machine."""

    __slots__ = ("_handle", "_facts")

    def __init__(self, handle: int) -> None:
        self._handle, self._facts = handle, _native.describe_hardware(handle)

    @property
    def type(self) -> OrtHardwareDeviceType:
        """CPU, GPU or NPU."""
        return OrtHardwareDeviceType(self._facts["type"])

    @property
    def vendor(self) -> str:
        """Name of its vendor."""
        return self._facts["vendor"]

    @property
    def vendor_id(self) -> int:
        """PCI id of its vendor."""
        return self._facts["vendor_id"]

    @property
    def device_id(self) -> int:
        """PCI id of the device."""
        return self._facts["device_id"]

    @property
    def metadata(self) -> dict[str, str]:
        """Further facts."""
        return dict(self._facts["metadata"])


class OrtSyncStream:
    """A stream of a device; none exists for CPU memory."""

    def get_handle(self) -> int:
        """Address of the provider's own stream."""
        return 0


class OrtEpDevice:
    """An execution provider together with a device that it can use."""

    __slots__ = ("_handle", "_facts")

    def __init__(self, handle: int) -> None:
        self._handle, self._facts = handle, _native.describe_ep_device(handle)

    @property
    def ep_name(self) -> str:
        """The provider's name."""
        return self._facts["ep_name"]

    @property
    def ep_vendor(self) -> str:
        """The provider's vendor."""
        return self._facts["ep_vendor"]

    @property
    def ep_metadata(self) -> dict[str, str]:
        """Facts about the provider on this device."""
        return dict(self._facts["ep_metadata"])

    @property
    def ep_options(self) -> dict[str, str]:
        """Options with which the provider uses this device."""
        return dict(self._facts["ep_options"])

    @property
    def device(self) -> OrtHardwareDevice:
        """The device."""
        return OrtHardwareDevice(self._facts["device"])

    def memory_info(self, device_mem_type: OrtDeviceMemoryType) -> OrtMemoryInfo | None:
        """The provider's memory of this kind, or None."""
        return OrtMemoryInfo._borrow(_native.ep_memory(self._handle, int(device_mem_type)))


class OrtEpAssignedNode:
    """A node as the placement names it."""

    __slots__ = ("name", "domain", "op_type")

    def __init__(self, name: str, domain: str, op_type: str) -> None:
        self.name, self.domain, self.op_type = name, domain, op_type


class OrtEpAssignedSubgraph:
    """Nodes that one execution provider took."""

    __slots__ = ("ep_name", "_nodes")

    def __init__(self, ep_name: str, nodes: list) -> None:
        self.ep_name, self._nodes = ep_name, [OrtEpAssignedNode(*node) for node in nodes]

    def get_nodes(self) -> list[OrtEpAssignedNode]:
        """The nodes, in the model's order."""
        return list(self._nodes)


def get_ep_devices() -> list[OrtEpDevice]:
    """Every pair of provider and device that sessions can use."""
    return [OrtEpDevice(handle) for handle in _native.ep_devices()]


def get_hardware_devices() -> list[OrtHardwareDevice]:
    """The devices of this machine that the engine found."""
    return [OrtHardwareDevice(handle) for handle in _native.hardware_devices()]


def create_and_register_allocator(mem_info: OrtMemoryInfo, arena_cfg: OrtArenaCfg | None = None) -> None:
    """An arena that all sessions with the entry session.use_env_allocators share."""
    _native.register_allocator(mem_info._native._handle, {} if arena_cfg is None else arena_cfg._entries())


def create_and_register_allocator_v2(
    provider_type: str, mem_info: OrtMemoryInfo, options: Mapping[str, str], arena_cfg: OrtArenaCfg | None = None
) -> None:
    """create_and_register_allocator for a provider by name; only the CPU provider has host memory to share."""
    if provider_type != "CPUExecutionProvider":
        raise RuntimeError(f"{provider_type} has no allocator to share here")
    create_and_register_allocator(mem_info, arena_cfg)
