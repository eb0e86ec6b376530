#include "abi/plugin/engines.h"

#include <algorithm>

#include "abi/custom_operators.h"
#include "abi/slots.h"
#include "base/cpu_info.h"
#include "base/os.h"
#include "plan/region_hash.h"
#include "session/config_keys.h"

namespace trunnion::abi {
namespace {

constexpr uint32_t kValidates = 23, kDetails = 24;  // versions of OrtEpFactory that brought these
constexpr size_t kLargestFile = size_t{1} << 40;
constexpr std::string_view kModelFile = "engine.onnx", kData = "ep_cache_context";

using Fields = decltype(session::EngineKey::fields);

std::string pairs_text(const OrtKeyValuePairs& pairs) {
  std::string text;
  for (const auto& [key, value] : pairs.entries)
    if (key != "library_path") text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, value);
  return text;
}

// A plugin's work is mostly done by libraries that lie beside it. One that the loader found has a bare name for a path:
// what it gave, a factory, says where it lies.
std::string library_text(const std::string& given, const OrtEpFactory& factory) {
  std::string path = given;
  if (path.find('/') == std::string::npos)
    if (std::string found = os::file_of(reinterpret_cast<const void*>(factory.CreateEp)); !found.empty())
      path = std::move(found);
  if (auto whole = os::canonical(path); whole.ok()) path = std::move(whole).value();
  const auto slash = path.rfind('/');
  const std::string own = path.substr(slash == std::string::npos ? 0 : slash + 1);
  const auto listed = os::list_folder(slash == std::string::npos ? "." : path.substr(0, slash + 1));
  std::string text, others;
  if (!listed.ok()) return own;
  auto files = *listed;
  std::ranges::sort(files, {}, &os::FolderEntry::name);
  for (const auto& f : files) {
    if (f.name == own) text = fmt::format("{} of {} bytes, {}", own, f.size, f.modified_ns);
    if (f.name.find(".so") != std::string::npos && f.name != own)
      others += fmt::format("{} {} {}\n", f.name, f.size, f.modified_ns);
  }
  if (text.empty()) {
    const auto id = os::file_identity(path);
    text = id.ok() ? fmt::format("{} of {} bytes, {}", own, id->size, id->modified_ns) : own;
  }
  return others.empty() ? text : fmt::format("{}, beside {:016x}", text, hash64(others));
}

std::string processor_text() {
  const CpuInfo& c = cpu_info();
  return fmt::format("{} family {} model {}, {}{}{}{}{}",
                     c.is_intel ? "Intel"
                     : c.is_amd ? "AMD"
                                : "other",
                     c.family, c.model, rung_name(c.rung), c.avx512_vnni ? " VNNI" : "", c.avx512_bf16 ? " BF16" : "",
                     c.amx_bf16 ? " AMX-BF16" : "", c.amx_int8 ? " AMX-INT8" : "");
}

// What the provider has against a device, a driver that is too old for example.
std::string complaint(OrtEpFactory& factory, const OrtHardwareDevice& device) {
  if (factory.ort_version_supported < kDetails || !factory.GetHardwareDeviceIncompatibilityDetails) return {};
  OrtDeviceEpIncompatibilityDetails details;
  const Status asked =
      guarded([&] { return from_ort(factory.GetHardwareDeviceIncompatibilityDetails(&factory, &device, &details)); });
  if (!asked.ok() || details.reasons == OrtDeviceEpIncompatibility_NONE) return {};
  return fmt::format("reasons {}, code {}: {}", details.reasons, details.error_code, details.notes);
}

void add_devices(std::span<const OrtEpDevice* const> devices, Fields& fields) {
  bool cpu = false;
  for (size_t i = 0; i < devices.size(); ++i) {
    const OrtEpDevice& d = *devices[i];
    const std::string which = devices.size() > 1 ? fmt::format("device {}", i) : "the device";
    if (const OrtHardwareDevice* h = d.device) {
      cpu |= h->type == OrtHardwareDeviceType_CPU;
      fields.emplace_back(which,
                          fmt::format("{} {:04x}:{:04x} of {}", kind_of(d), h->vendor_id, h->device_id, h->vendor));
      fields.emplace_back(which + "'s metadata", pairs_text(h->metadata));
      if (std::string text = complaint(*d.factory, *h); !text.empty())
        fields.emplace_back("what the provider has against " + which, std::move(text));
    }
    fields.emplace_back("what the provider says of " + which, pairs_text(d.metadata));
    fields.emplace_back(which + "'s options", pairs_text(d.options));
  }
  if (cpu) fields.emplace_back("the processor", processor_text());
}

bool plain_name(const std::string& file) {
  return !file.empty() && file.find('/') == std::string::npos && file != "." && file != "..";
}

// The files that lie beside the model, by the name that its node has for them; null where the node holds the data.
const std::string* file_of(const ep::ContextNode& node) {
  const std::string* data = nullptr;
  bool embedded = true;
  for (const ir::Attr& a : node.attrs) {
    if (a.name == kData) data = a.get<std::string>();
    if (const auto* mode = a.get<int64_t>(); mode && a.name == "embed_mode") embedded = *mode != 0;
  }
  return embedded ? nullptr : data;
}

}  // namespace

std::unique_ptr<Engines> Engines::of(const std::shared_ptr<const OrtSessionOptions>& options, const ir::Model& model,
                                     const PluginLibrary& library, std::span<const OrtEpDevice* const> devices,
                                     const Logger& logger) {
  const session::Options& o = options->options;
  auto cache = session::EngineCache::of(o, logger);
  if (!cache) return nullptr;
  bool compiled = false;
  model.graph->for_each_node_deep([&](const ir::Node* n) { compiled |= n->op_type() == "EPContext"; });
  if (compiled) {
    TRN_LOG(logger, info, "engine cache: not used: the model is a compiled one");
    return nullptr;
  }
  std::unique_ptr<Engines> e(new Engines());
  e->provider_ = devices.front()->ep_name;
  e->factory_ = devices.front()->factory;
  for (const OrtEpDevice* d : devices) e->hardware_.push_back(d->device);
  Fields& f = e->fields_;
  const auto version = devices.front()->metadata.entries.find("version");
  f.emplace_back("the version of " + e->provider_,
                 version == devices.front()->metadata.entries.end() ? "" : version->second);
  f.emplace_back("the plugin", library_text(library.path(), *e->factory_));
  f.emplace_back("the version of this engine", TRUNNION_VERSION);
  f.emplace_back("the build of this engine", session::engine_build());
  add_devices(devices, f);
  for (const auto& [key, value] : o.config)
    if (key.starts_with("ep.") || session::config_key_kind(key) != session::KeyKind::ours)
      f.emplace_back(fmt::format("'{}'", key), value);
  for (const auto& [key, value] : Process::acquire()->config())
    f.emplace_back(fmt::format("the environment's '{}'", key), value);
  e->cache_ = std::move(cache);
  auto folder = session::EngineFolder::make(e->cache_->folder());
  if (!folder.ok()) {
    e->stop_writing(folder.status());
    return e;
  }
  e->folder_ = std::move(folder).value();
  e->model_path_ = fmt::format("{}/{}", e->folder_->path(), kModelFile);
  auto writing = std::make_shared<OrtSessionOptions>(*options);
  writing->options.config["ep.context_enable"] = "1";
  writing->options.config["ep.context_embed_mode"] = "1";
  writing->options.config["ep.context_file_path"] = e->model_path_;
  writing->options.ep_context_read = nullptr;
  writing->options.ep_context_write = nullptr;
  e->writing_ = std::move(writing);
  return e;
}

void Engines::stop_writing(const Status& why) {
  writing_.reset();
  off_ = why.message();
  TRN_LOG(cache_->folder().logger, warning, "engine cache: {} writes no engine: {}", provider_, off_);
}

session::EngineKey Engines::key_of(std::span<const Hash128> regions) const {
  session::EngineKey key{hash128(provider_), fields_};
  for (const Hash128& h : regions) key.content = hash_combine(key.content, h);
  return key;
}

void Engines::log_ignored(const session::EngineKey& key, const Status& why) const {
  TRN_LOG(cache_->folder().logger, warning, "engine cache: ignored, {}: {}", cache_->path(key), why.message());
}

void Engines::log_hit(const Hit& hit, int64_t nanoseconds) const {
  TRN_LOG(cache_->folder().logger, info, "engine cache: hit, {}: {} region{} of {}, ready after {:.1f} ms",
          cache_->path(hit.key), hit.regions.size(), hit.regions.size() == 1 ? "" : "s", provider_,
          static_cast<double>(nanoseconds) * 1e-6);
}

Engines::Turn Engines::look(std::span<const ep::Region> regions) const {
  Turn turn;
  turn.notes.resize(regions.size());
  std::vector<size_t> open;
  for (size_t i = 0; i < regions.size(); ++i) {
    turn.hashes.push_back(plan::hash_of(regions[i]));
    if (turn.hashes.back())
      open.push_back(i);
    else
      turn.notes[i] = {"off", "a part of the region has no content to know it by"};
  }
  const auto key_for = [&](const std::vector<size_t>& which) {
    std::vector<Hash128> parts;
    for (const size_t i : which) parts.push_back(*turn.hashes[i]);
    return key_of(parts);
  };
  const auto find = [&](const std::vector<size_t>& which, bool tell) {
    session::EngineKey key = key_for(which);
    auto found = cache_->find(key);
    if (found.ok() && found->nodes.size() != which.size())
      found = error(Code::fail, "the entry has {} engines, not {}", found->nodes.size(), which.size());
    if (found.ok()) {
      turn.hits.push_back({which, std::move(key), *std::move(found)});
      return true;
    }
    ep::EngineNote note{"miss", found.status().message()};
    if (found.status().code() == Code::no_such_file) {
      if (!tell) return false;
      if (const std::string near = cache_->nearest(key); !near.empty())
        note.reason = fmt::format("there is no entry; of the nearest one, {}", near);
      TRN_LOG(cache_->folder().logger, info, "engine cache: miss, {}: {}", cache_->path(key), note.reason);
    } else {
      note.cache = "ignored";
      log_ignored(key, found.status());
    }
    for (const size_t i : which) turn.notes[i] = note;
    return false;
  };
  if (open.empty() || find(open, true)) return turn;
  // Groups that were not compiled together, for one of them could not be compiled.
  if (open.size() > 1) std::erase_if(open, [&](size_t i) { return find({i}, false); });
  if (open.empty()) return turn;
  if (!off_.empty()) return turn;  // nothing will be stored
  turn.making = cache_->wait(key_for(open));
  if (find(open, false)) turn.making.lock.reset();  // somebody else has made it meanwhile
  return turn;
}

Status Engines::prepare(const Hit& hit) const {
  const std::string& info = hit.engine.compatibility;
  if (!info.empty() && factory_->ort_version_supported >= kValidates &&
      factory_->ValidateCompiledModelCompatibilityInfo) {
    OrtCompiledModelCompatibility fits = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
    TRN_TRY(guarded([&] {
              return from_ort(factory_->ValidateCompiledModelCompatibilityInfo(factory_, hardware_.data(),
                                                                               hardware_.size(), info.c_str(), &fits));
            }).with_context("ValidateCompiledModelCompatibilityInfo"));
    if (fits == OrtCompiledModelCompatibility_EP_UNSUPPORTED)
      return error(Code::fail, "{} says that the engine is not supported here any more", provider_);
    if (fits == OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION)
      return error(Code::fail, "{} says that the engine is better compiled again", provider_);
  }
  for (const session::EngineFile& f : hit.engine.files) {
    if (!folder_) return error(Code::fail, "its file '{}' cannot be put anywhere", f.name);
    if (!plain_name(f.name)) return error(Code::fail, "its file '{}' does not lie beside the model", f.name);
    TRN_TRY(os::write_file_atomically(folder_->path() + "/" + f.name, std::as_bytes(std::span(f.content))));
  }
  return {};
}

Result<session::Engine> Engines::engine_of(std::span<Made> made) const {
  session::Engine engine;
  for (Made& m : made) {
    if (m.node.op_type.empty()) return error(Code::fail, "{} wrote an engine for some of its regions only", provider_);
    const auto named = [](const auto& values, const std::string& name) {
      return name.empty() ||
             std::ranges::find(values, name, [](const ir::Value* v) { return v->name(); }) != values.end();
    };
    for (const std::string& name : m.node.inputs)
      if (!named(m.region->inputs, name))
        return error(Code::fail, "its node reads '{}', which is no input of the region", name);
    for (const std::string& name : m.node.outputs)
      if (!named(m.region->outputs, name))
        return error(Code::fail, "its node gives '{}', which is no output of the region", name);
    if (const std::string* file = file_of(m.node);
        file && std::ranges::find(engine.files, *file, &session::EngineFile::name) == engine.files.end()) {
      if (!plain_name(*file)) return error(Code::fail, "its file '{}' does not lie beside the model", *file);
      TRN_ASSIGN(std::string content, os::read_file(folder_->path() + "/" + *file, kLargestFile));
      engine.files.push_back({*file, std::move(content)});
    }
    engine.nodes.push_back(std::move(m.node));
  }
  return engine;
}

void Engines::store(std::span<Made> made, const std::string& compatibility) {
  const Logger& logger = cache_->folder().logger;
  if (off_.empty() && std::ranges::all_of(made, [](const Made& m) { return m.node.op_type.empty(); })) {
    off_ = "provider writes no engine";
    TRN_LOG(logger, info, "engine cache: not cached: {} writes no engine", provider_);
  }
  if (!off_.empty()) {
    for (Made& m : made) *m.note = {"off", "not cached: " + off_};
    return;
  }
  std::vector<Hash128> hashes;
  for (const Made& m : made) {
    if (!m.hash) return;  // the note says so
    hashes.push_back(*m.hash);
  }
  const session::EngineKey key = key_of(hashes);
  auto engine = engine_of(made);
  Status status = engine.status();
  if (status.ok()) {
    engine->compatibility = compatibility;
    status = cache_->store(key, *engine);
  }
  if (!status.ok()) TRN_LOG(logger, warning, "engine cache: not written, {}: {}", cache_->path(key), status.message());
  for (Made& m : made) {
    m.note->stored = status.ok();
    if (!status.ok()) m.note->reason += fmt::format("; not written: {}", status.message());
  }
}

}  // namespace trunnion::abi
