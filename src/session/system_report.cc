#include "session/system_report.h"

#include <array>
#include <vector>

#include "base/cpu_info.h"
#include "base/error.h"
#include "base/os.h"
#include "base/os_devices.h"
#include "base/thread_pool.h"
#include "ops/extras_library.h"
#include "session/json.h"

namespace trunnion::session {
namespace {

std::string texts(const std::vector<std::string>& list) { return json_list(list, json_text); }

std::string cpu_json() {
  const CpuInfo& cpu = cpu_info();
  std::vector<std::string> features;
  const auto add = [&](bool has, const char* name) {
    if (has) features.emplace_back(name);
  };
  add(cpu.rung >= Rung::avx2, "avx2");
  add(cpu.rung >= Rung::avx512, "avx512");
  add(cpu.avx512_vnni, "avx512_vnni");
  add(cpu.avx512_bf16, "avx512_bf16");
  add(cpu.amx_int8, "amx_int8");
  add(cpu.amx_bf16, "amx_bf16");
  const auto forced = os::environment("TRUNNION_CPU");
  std::vector<std::string> unverified;  // kernels that no machine has run yet: off unless they are asked for
  if (cpu.amx_bf16) unverified.emplace_back(active_amx_bf16() ? "amx_bf16 (on)" : "amx_bf16 (off)");
  return fmt::format(
      "{{\"vendor\":{},\"family\":{},\"model\":{},\"features\":{},\"rung\":{},\"rung_in_use\":{},\"forced\":{},"
      "\"unverified\":{},"
      "\"l1d_bytes\":{},\"l2_bytes\":{},\"l3_bytes\":{}}}",
      json_text(cpu.is_intel ? "Intel"
                : cpu.is_amd ? "AMD"
                             : "unknown"),
      cpu.family, cpu.model, texts(features), json_text(rung_name(cpu.rung)), json_text(rung_name(active_rung())),
      forced && !forced->empty() ? json_text(*forced) : "null", texts(unverified), cpu.l1d_bytes, cpu.l2_bytes,
      cpu.l3_bytes);
}

std::string threads_json() {
  const std::vector<int> allowed = os::allowed_cpus();
  const int cores = os::physical_cores(allowed), count = default_thread_count();
  const auto quota = os::cpu_quota();
  const auto asked = os::environment("TRUNNION_NUM_THREADS");
  const int cpus = static_cast<int>(allowed.size());
  const char* why = asked && *asked == std::to_string(count)      ? "TRUNNION_NUM_THREADS"
                    : quota && *quota < cpus && *quota < cores    ? "the CPU quota of the control group"
                    : cores > 0 && cores < cpus && count == cores ? "the physical cores under the allowed CPUs"
                                                                  : "the CPUs that the affinity mask allows";
  return fmt::format("{{\"default\":{},\"why\":{},\"allowed_cpus\":{},\"physical_cores\":{},\"quota\":{}}}", count,
                     json_text(why), cpus, cores, quota ? fmt::format("{:.3g}", *quota) : "null");
}

std::string extras_json() {
  const auto table = ops::load_extras("the extras library");
  if (!table.ok()) return fmt::format("{{\"found\":false,\"error\":{}}}", json_text(table.status().message()));
  const std::string path = os::file_of(reinterpret_cast<const void*>(*table));
  std::vector<std::string> missing;
  for (int part = 0; part < TRUNNION_EXTRAS_PARTS; ++part)
    if (const auto s = ops::load_extras(static_cast<TrunnionExtrasPart>(part)); !s.ok())
      missing.push_back(s.status().message());
  return fmt::format("{{\"found\":true,\"library\":{},\"missing\":{}}}", json_text(path), texts(missing));
}

std::string accelerators_json() {
  return json_list(os::accelerators(), [](const os::Accelerator& a) {
    return fmt::format("{{\"kind\":\"{}\",\"vendor_id\":\"{:#06x}\",\"device_id\":\"{:#06x}\",\"pci_bus_id\":{}}}",
                       a.neural ? "NPU" : "GPU", a.vendor_id, a.device_id, json_text(a.pci_bus_id));
  });
}

std::string environment_json() {
  std::string all;
  for (const char* name : {"TRUNNION_CPU", "TRUNNION_NUM_THREADS", "TRUNNION_LIBRARY", "TRUNNION_EXTRAS_LIBRARY",
                           "LD_LIBRARY_PATH", "LD_PRELOAD"})
    if (const auto value = os::environment(name))
      all += fmt::format("{}{}:{}", all.empty() ? "" : ",", json_text(name), json_text(*value));
  return "{" + all + "}";
}

}  // namespace

std::string system_json(std::string_view version) {
  const auto memory = os::memory_use();
  return fmt::format(
      "{{\"version\":{},\"library\":{},\"cpu\":{},\"threads\":{},\"resident_bytes\":{},\"extras\":{},"
      "\"accelerators\":{},\"environment\":{}}}",
      json_text(version), json_text(os::file_of(reinterpret_cast<const void*>(&system_json))), cpu_json(),
      threads_json(), memory.resident_bytes, extras_json(), accelerators_json(), environment_json());
}

}  // namespace trunnion::session
