// Allocators: the default one for CPU memory, and calls through a user's.
#include <cstring>

#include "abi/session_handle.h"
#include "abi/slots.h"
#include "base/os.h"

namespace trunnion::abi {
namespace {

// Ours has a place for the memory it says it gives; users see the public part.
struct CpuAllocator : OrtAllocator {
  std::shared_ptr<const OrtMemoryInfo> info;
};

void* ORT_API_CALL allocate(OrtAllocator*, size_t size) { return size ? os::allocate(size) : nullptr; }
void* ORT_API_CALL allocate_on_stream(OrtAllocator*, size_t size, OrtSyncStream*) {
  return size ? os::allocate(size) : nullptr;
}
void ORT_API_CALL release(OrtAllocator*, void* p) {
  if (p) os::release(p);
}
const OrtMemoryInfo* ORT_API_CALL info_of(const OrtAllocator* a) {
  const auto& info = static_cast<const CpuAllocator*>(a)->info;
  return info ? info.get() : cpu_memory().get();
}
OrtStatus* ORT_API_CALL no_stats(const OrtAllocator*, OrtKeyValuePairs** out) {
  if (!out) return to_ort(Status(Code::invalid_argument, "argument 'out' must not be NULL"));
  *out = new (std::nothrow) OrtKeyValuePairs;
  return *out ? nullptr : out_of_memory();
}
OrtStatus* ORT_API_CALL nothing_to_shrink(OrtAllocator*) { return nullptr; }

void fill(CpuAllocator& a) {
  a.version = ORT_API_VERSION;
  a.Alloc = allocate;
  a.Free = release;
  a.Info = info_of;
  a.Reserve = allocate;
  a.GetStats = no_stats;
  a.AllocOnStream = allocate_on_stream;
  a.Shrink = nothing_to_shrink;
}

bool is_ours(const OrtAllocator* a) { return a->Alloc == allocate && a != default_allocator(); }

}  // namespace

OrtAllocator* default_allocator() {
  // Never destroyed: users free through it while the process ends.
  static CpuAllocator* const allocator = [] {
    auto* a = new CpuAllocator{};
    fill(*a);
    return a;
  }();
  return allocator;
}

Status copy_string(OrtAllocator* allocator, std::string_view text, char** out) {
  auto* copy = static_cast<char*>(allocator->Alloc(allocator, text.size() + 1));
  if (!copy) return error(Code::fail, "the allocator gave no memory for a string of {} bytes", text.size() + 1);
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  *out = copy;
  return {};
}

Status copy_to_buffer(std::string_view text, char* buffer, size_t* size, std::string_view what) {
  const size_t have = *size;
  *size = text.size() + 1;
  if (!buffer) return {};
  if (have < *size) return invalid_argument("{}: the buffer has {} bytes, {} are needed", what, have, *size);
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = '\0';
  return {};
}

ORT_FN(GetAllocatorWithDefaultOptions, (OrtAllocator * *out)) {
  TRN_REQUIRE(out);
  *out = default_allocator();
  return {};
}

ORT_FN(CreateAllocator, (const OrtSession* session, const OrtMemoryInfo* mem_info, OrtAllocator** out)) {
  TRN_REQUIRE(session, mem_info, out);
  if (mem_info->device_type != OrtMemoryInfoDeviceType_CPU) {
    // That of the plugin, which all sessions share; releasing it does nothing.
    TRN_ASSIGN(*out, session->process->find_allocator(*mem_info));
    return *out ? Status()
                : invalid_argument("CreateAllocator: the session has no allocator for '{}' memory", mem_info->name);
  }
  auto a = std::make_unique<CpuAllocator>();
  fill(*a);
  a->info = std::make_shared<const OrtMemoryInfo>(*mem_info);
  *out = a.release();
  return {};
}

ORT_FN_AS(void, ReleaseAllocator, (OrtAllocator * allocator)) {
  if (allocator && is_ours(allocator)) delete static_cast<CpuAllocator*>(allocator);
}

ORT_FN(AllocatorAlloc, (OrtAllocator * ort_allocator, size_t size, void** out)) {
  TRN_REQUIRE(ort_allocator, out);
  *out = ort_allocator->Alloc(ort_allocator, size);
  if (!*out && size) return error(Code::fail, "the allocator gave no memory for {} bytes", size);
  return {};
}

ORT_FN(AllocatorFree, (OrtAllocator * ort_allocator, void* p)) {
  TRN_REQUIRE(ort_allocator);
  if (p) ort_allocator->Free(ort_allocator, p);
  return {};
}

ORT_FN(AllocatorGetInfo, (const OrtAllocator* ort_allocator, const OrtMemoryInfo** out)) {
  TRN_REQUIRE(ort_allocator, out);
  *out = ort_allocator->Info(ort_allocator);
  return {};
}

ORT_FN(AllocatorGetStats, (const OrtAllocator* ort_allocator, OrtKeyValuePairs** out)) {
  TRN_REQUIRE(ort_allocator, out);
  if (ort_allocator->version >= 23 && ort_allocator->GetStats) {
    if (OrtStatus* failed = ort_allocator->GetStats(ort_allocator, out)) {
      Status status = failed->status;
      delete failed;
      return status;
    }
    return {};
  }
  *out = new OrtKeyValuePairs;
  return {};
}

ORT_FN(CreateArenaCfg, (size_t max_mem, int arena_extend_strategy, int initial_chunk_size_bytes,
                        int max_dead_bytes_per_chunk, OrtArenaCfg** out)) {
  TRN_REQUIRE(out);
  auto cfg = std::make_unique<OrtArenaCfg>();
  cfg->entries = {{"max_mem", static_cast<int64_t>(max_mem)},
                  {"arena_extend_strategy", arena_extend_strategy},
                  {"initial_chunk_size_bytes", initial_chunk_size_bytes},
                  {"max_dead_bytes_per_chunk", max_dead_bytes_per_chunk}};
  *out = cfg.release();
  return {};
}

ORT_FN(CreateArenaCfgV2,
       (const char* const* arena_config_keys, const size_t* arena_config_values, size_t num_keys, OrtArenaCfg** out)) {
  TRN_REQUIRE(out);
  if (num_keys) TRN_REQUIRE(arena_config_keys, arena_config_values);
  static constexpr std::string_view kKeys[] = {"max_mem",
                                               "arena_extend_strategy",
                                               "initial_chunk_size_bytes",
                                               "max_dead_bytes_per_chunk",
                                               "initial_growth_chunk_size_bytes",
                                               "max_power_of_two_extend_bytes"};
  auto cfg = std::make_unique<OrtArenaCfg>();
  for (size_t i = 0; i < num_keys; ++i) {
    const char* key = arena_config_keys[i];
    if (!key || std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys))
      return invalid_argument("Invalid key found: {}", key ? key : "NULL");
    cfg->entries[key] = static_cast<int64_t>(arena_config_values[i]);
  }
  *out = cfg.release();
  return {};
}

ORT_FN_AS(void, ReleaseArenaCfg, (OrtArenaCfg * cfg)) { delete cfg; }

}  // namespace trunnion::abi
