// OrtEpApi: what plugins call while they are registered, asked for their capability, and compile.
#include "abi/plugin/device_memory.h"
#include "abi/plugin/provider.h"
#include "abi/slots.h"

namespace trunnion::abi {
namespace {

const OrtMemoryInfo* info(const OrtMemoryDevice* device) { return reinterpret_cast<const OrtMemoryInfo*>(device); }

Status check_nodes(const OrtEpGraphSupportInfo& support, std::span<const OrtNode* const> nodes) {
  TRN_TRY(check_handles(nodes.data(), nodes.size()));
  for (const OrtNode* n : nodes) {
    if (!n) return invalid_argument("a node of the group is NULL");
    if (n->graph != support.graph)
      return invalid_argument("node '{}' is not one of the graph that the provider was asked about", n->name);
  }
  return {};
}

}  // namespace

TABLE_FN(OrtEpApi, CreateEpDevice,
         (OrtEpFactory * ep_factory, const OrtHardwareDevice* hardware_device, const OrtKeyValuePairs* ep_metadata,
          const OrtKeyValuePairs* ep_options, OrtEpDevice** ep_device)) {
  TRN_REQUIRE(ep_factory, hardware_device, ep_device);
  TRN_TRY(check_version(ep_factory->ort_version_supported, "the factory"));
  auto made = std::make_unique<OrtEpDevice>();
  const char* name = ep_factory->GetName(ep_factory);
  const char* vendor = ep_factory->GetVendor(ep_factory);
  if (!name || !*name) return invalid_argument("the factory has no name");
  made->ep_name = name;
  made->ep_vendor = vendor ? vendor : "";
  if (ep_metadata) made->metadata.entries = ep_metadata->entries;
  if (ep_options) made->options.entries = ep_options->entries;
  constexpr uint32_t kWithVersion = 23;
  if (ep_factory->ort_version_supported >= kWithVersion && ep_factory->GetVersion)
    if (const char* version = ep_factory->GetVersion(ep_factory); version && *version)
      made->metadata.entries.insert_or_assign("version", version);
  made->metadata.refresh();
  made->options.refresh();
  made->device = hardware_device;
  made->factory = ep_factory;
  *ep_device = made.release();
  return {};
}

TABLE_FN_AS(void, OrtEpApi, ReleaseEpDevice, (OrtEpDevice * input)) { delete input; }

TABLE_FN(OrtEpApi, EpDevice_AddAllocatorInfo, (OrtEpDevice * ep_device, const OrtMemoryInfo* allocator_memory_info)) {
  TRN_REQUIRE(ep_device, allocator_memory_info);
  auto memory = std::make_shared<const OrtMemoryInfo>(*allocator_memory_info);
  auto& place = memory->allocator_type == OrtReadOnlyAllocator                   ? ep_device->constant_memory
                : memory->device_mem_type == OrtDeviceMemoryType_HOST_ACCESSIBLE ? ep_device->host_memory
                                                                                 : ep_device->device_memory;
  place = std::move(memory);
  return {};
}

TABLE_FN(OrtEpApi, EpGraphSupportInfo_AddNodesToFuse,
         (OrtEpGraphSupportInfo * graph_support_info, const OrtNode* const* nodes, size_t num_nodes,
          const OrtNodeFusionOptions* node_fusion_options)) {
  TRN_REQUIRE(graph_support_info, nodes);
  if (!num_nodes) return invalid_argument("a group has at least one node");
  TRN_TRY(check_nodes(*graph_support_info, {nodes, num_nodes}));
  graph_support_info->groups.push_back(
      {{nodes, nodes + num_nodes}, node_fusion_options && node_fusion_options->drop_constant_initializers});
  return {};
}

TABLE_FN(OrtEpApi, EpGraphSupportInfo_AddSingleNode,
         (OrtEpGraphSupportInfo * graph_support_info, const OrtNode* node)) {
  TRN_REQUIRE(graph_support_info, node);
  TRN_TRY(check_nodes(*graph_support_info, {&node, 1}));
  graph_support_info->single.push_back(node);
  return {};
}

TABLE_FN_AS(const char*, OrtEpApi, NodeComputeContext_NodeName, (const OrtNodeComputeContext* context)) {
  return context ? context->name.c_str() : nullptr;
}

TABLE_FN_AS(const OrtMemoryDevice*, OrtEpApi, MemoryInfo_GetMemoryDevice, (const OrtMemoryInfo* memory_info)) {
  return memory_info ? device_of(*memory_info) : nullptr;
}
TABLE_FN_AS(const OrtMemoryDevice*, OrtEpApi, Value_GetMemoryDevice, (const OrtValue* value)) {
  return value ? device_of(memory_of(*value)) : nullptr;
}
TABLE_FN_AS(bool, OrtEpApi, MemoryDevice_AreEqual, (const OrtMemoryDevice* a, const OrtMemoryDevice* b)) {
  if (!a || !b) return a == b;
  const OrtMemoryInfo &x = *info(a), &y = *info(b);
  return x.device_type == y.device_type && x.device_mem_type == y.device_mem_type && x.vendor_id == y.vendor_id &&
         x.device_id == y.device_id && x.alignment == y.alignment;
}
TABLE_FN_AS(OrtMemoryInfoDeviceType, OrtEpApi, MemoryDevice_GetDeviceType, (const OrtMemoryDevice* memory_device)) {
  return memory_device ? info(memory_device)->device_type : OrtMemoryInfoDeviceType_CPU;
}
TABLE_FN_AS(OrtDeviceMemoryType, OrtEpApi, MemoryDevice_GetMemoryType, (const OrtMemoryDevice* memory_device)) {
  return memory_device ? info(memory_device)->device_mem_type : OrtDeviceMemoryType_DEFAULT;
}
TABLE_FN_AS(uint32_t, OrtEpApi, MemoryDevice_GetVendorId, (const OrtMemoryDevice* memory_device)) {
  return memory_device ? info(memory_device)->vendor_id : 0;
}
TABLE_FN_AS(uint32_t, OrtEpApi, MemoryDevice_GetDeviceId, (const OrtMemoryDevice* memory_device)) {
  return memory_device ? static_cast<uint32_t>(info(memory_device)->device_id) : 0;
}

// A device that the host did not find; the plugin's until it is released.
TABLE_FN(OrtEpApi, CreateHardwareDevice,
         (OrtHardwareDeviceType type, uint32_t vendor_id, uint32_t device_id, const char* vendor_name,
          const OrtKeyValuePairs* metadata, OrtHardwareDevice** hardware_device)) {
  TRN_REQUIRE(vendor_name, hardware_device);
  auto made = std::make_unique<OrtHardwareDevice>();
  made->type = type;
  made->vendor_id = vendor_id;
  made->device_id = device_id;
  made->vendor = vendor_name;
  if (metadata) made->metadata.entries = metadata->entries;
  made->metadata.refresh();
  *hardware_device = made.release();
  return {};
}
TABLE_FN_AS(void, OrtEpApi, ReleaseHardwareDevice, (OrtHardwareDevice * input)) { delete input; }

TABLE_FN(OrtEpApi, EpGraphSupportInfo_LookUpKernel,
         (OrtEpGraphSupportInfo * graph_support_info, const OrtNode* node, const OrtKernelDef** out_kernel_def)) {
  TRN_REQUIRE(graph_support_info, node, out_kernel_def);
  *out_kernel_def = nullptr;
  TRN_TRY(check_nodes(*graph_support_info, {&node, 1}));
  if (!graph_support_info->registry) return {};
  if (const auto* found = graph_support_info->registry->find(*graph_support_info->by_id[node->id]))
    *out_kernel_def = found->def.get();
  return {};
}

// Plugins ask for them without an environment at hand.
TABLE_FN(OrtEpApi, GetEnvConfigEntries, (OrtKeyValuePairs * *config_entries)) {
  TRN_REQUIRE(config_entries);
  auto made = std::make_unique<OrtKeyValuePairs>();
  made->entries = Process::acquire()->config();
  made->refresh();
  *config_entries = made.release();
  return {};
}

}  // namespace trunnion::abi
