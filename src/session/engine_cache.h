// EngineCache: what compiling providers made of regions, on disk, where `session.cache_dir` says so. An entry is what
// one call of Compile gave, for a provider may put the engines of all its regions into one blob. docs/engine_cache.md
// tells the rules.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/os_files.h"
#include "ep/provider.h"
#include "session/cache_folder.h"

namespace trunnion::session {

struct EngineFile {
  std::string name, content;
};

struct Engine {
  std::vector<ep::ContextNode> nodes;  // one for each region of the call, in order
  std::vector<EngineFile> files;       // that the nodes name
  std::string compatibility;           // what the provider says of what they need; empty: nothing
};

// What an engine was made of, and what by and for. Another value of any field is another entry.
struct EngineKey {
  Hash128 content;  // of the regions
  std::vector<std::pair<std::string, std::string>> fields;
  Hash128 hash() const;
  std::string file_name() const;  // entries of one content begin alike
};

class EngineCache {
 public:
  // Null when the options ask for none, or for something that does not go with it (which is logged).
  static std::unique_ptr<EngineCache> of(const Options& options, const Logger& logger);

  // An error says why there is none: nothing is there (Code::no_such_file), or what is wrong with it.
  Result<Engine> find(const EngineKey& key) const;
  // In what fields the entries of the same content differ that are nearest; empty where there are none.
  std::string nearest(const EngineKey& key) const;
  // Makes an entry, and room for it.
  Status store(const EngineKey& key, const Engine& engine) const;

  // The right to make the entry: while somebody else makes it, this waits, up to a limit. `lock` is empty where the
  // folder cannot be written, and when waiting took too long (which is logged).
  struct Turn {
    std::optional<os::FileLock> lock;
    bool waited = false;
  };
  Turn wait(const EngineKey& key) const;

  const CacheFolder& folder() const { return folder_; }
  std::string path(const EngineKey& key) const { return folder_.file(key.file_name()); }

 private:
  EngineCache(CacheFolder folder, int64_t seconds, std::shared_ptr<std::atomic<bool>> cancel)
      : folder_(std::move(folder)), seconds_(seconds), cancel_(std::move(cancel)) {}
  CacheFolder folder_;
  int64_t seconds_;
  std::shared_ptr<std::atomic<bool>> cancel_;
};

// A folder in the cache's for files that a provider writes or reads beside a model; it goes with the object.
class EngineFolder {
 public:
  static Result<std::unique_ptr<EngineFolder>> make(const CacheFolder& in);
  ~EngineFolder();
  const std::string& path() const { return path_; }

 private:
  EngineFolder(std::string path, os::FileLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  os::FileLock lock_;
};

}  // namespace trunnion::session
