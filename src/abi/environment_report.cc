#include "abi/environment_report.h"

#include "abi/plugin/library.h"
#include "base/error.h"
#include "session/json.h"
#include "session/system_report.h"

namespace trunnion::abi {
namespace {

using session::json_text;

std::string text_of(const char* text) { return json_text(text ? text : ""); }

std::string pairs_json(const OrtKeyValuePairs& pairs) {
  std::string out;
  for (const auto& [key, value] : pairs.entries)
    out += fmt::format("{}{}:{}", out.empty() ? "" : ",", json_text(key), json_text(value));
  return "{" + out + "}";
}

std::string device_json(const OrtEpDevice& d) {
  const OrtHardwareDevice* hw = d.device;
  return fmt::format("{{\"provider\":{},\"vendor\":{},\"kind\":\"{}\",\"hardware\":{},\"metadata\":{}}}",
                     json_text(d.ep_name), json_text(d.ep_vendor), kind_of(d), json_text(hw ? hw->vendor : ""),
                     pairs_json(d.metadata));
}

std::string factory_json(OrtEpFactory* f, const PluginLibrary& library) {
  std::string devices;
  for (const auto& d : library.devices())
    if (d->factory == f) devices += (devices.empty() ? "" : ",") + device_json(*d);
  return fmt::format("{{\"provider\":{},\"vendor\":{},\"version\":{},\"api_version\":{},\"devices\":[{}]}}",
                     text_of(f->GetName(f)), text_of(f->GetVendor(f)), text_of(f->GetVersion ? f->GetVersion(f) : ""),
                     f->ort_version_supported, devices);
}

}  // namespace

std::string environment_json(const OrtEnv& env) {
  std::string json = session::system_json(TRUNNION_VERSION);
  std::string devices, plugins;
  for (const OrtEpDevice* d : env.process->ep_devices()) devices += (devices.empty() ? "" : ",") + device_json(*d);
  for (const auto& library : env.process->libraries()) {
    std::string factories;
    for (OrtEpFactory* f : library->factories())
      factories += (factories.empty() ? "" : ",") + factory_json(f, *library);
    plugins += fmt::format("{}{{\"name\":{},\"path\":{},\"factories\":[{}]}}", plugins.empty() ? "" : ",",
                           json_text(library->name()), json_text(library->path()), factories);
  }
  json.back() = ',';
  return json + fmt::format("\"abi\":\"{}\",\"devices\":[{}],\"plugins\":[{}]}}", ORT_API_VERSION, devices, plugins);
}

}  // namespace trunnion::abi
