// How the provider of a plugin uses the engine cache: what its engines are known by, the options that make it write
// them, and the way of what it wrote into an entry and back. session/engine_cache.h is the store.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "abi/plugin/library.h"
#include "session/engine_cache.h"

namespace trunnion::abi {

class Engines {
 public:
  // Null where the session asks for no cache, or where the model is a compiled one.
  static std::unique_ptr<Engines> of(const std::shared_ptr<const OrtSessionOptions>& options, const ir::Model& model,
                                     const PluginLibrary& library, std::span<const OrtEpDevice* const> devices,
                                     const Logger& logger);

  // The session's options, with those that make a provider write engines. Null: it is not to.
  const std::shared_ptr<const OrtSessionOptions>& writing() const { return writing_; }
  void stop_writing(const Status& why);
  // Where a compiled model would lie: names of files in its nodes are beside it.
  const std::string& model_path() const { return model_path_; }

  // Regions that an entry stands for, as places in the list that was asked about.
  struct Hit {
    std::vector<size_t> regions;
    session::EngineKey key;
    session::Engine engine;
  };
  // What the cache has for these regions, and for those that are left the right to make an entry, held with the object.
  struct Turn {
    std::vector<Hit> hits;
    std::vector<std::optional<Hash128>> hashes;  // by region, like
    std::vector<ep::EngineNote> notes;           // these
    session::EngineCache::Turn making;
  };
  Turn look(std::span<const ep::Region> regions) const;

  // Whether the entry can be given to the provider: its files are put where it looks for them, and it says that it
  // still fits.
  Status prepare(const Hit& hit) const;
  // What one call of Compile gave for a region: an empty node where it gave none.
  struct Made {
    const ep::Region* region = nullptr;
    std::optional<Hash128> hash;
    ep::ContextNode node;
    ep::EngineNote* note = nullptr;  // gets what became of it
  };
  void store(std::span<Made> made, const std::string& compatibility);
  void log_ignored(const session::EngineKey& key, const Status& why) const;
  void log_hit(const Hit& hit, int64_t nanoseconds) const;

 private:
  Engines() = default;
  session::EngineKey key_of(std::span<const Hash128> regions) const;
  Result<session::Engine> engine_of(std::span<Made> made) const;

  std::string provider_;
  OrtEpFactory* factory_ = nullptr;
  std::vector<const OrtHardwareDevice*> hardware_;
  std::unique_ptr<session::EngineCache> cache_;
  decltype(session::EngineKey::fields) fields_;
  std::unique_ptr<session::EngineFolder> folder_;
  std::string model_path_;
  std::shared_ptr<const OrtSessionOptions> writing_;
  std::string off_;  // why nothing is stored any more
};

}  // namespace trunnion::abi
