// The cache folder that planned models (model_cache.h) and engines of plugins (engine_cache.h) share: one limit for all
// entries, and one rule of which of them go.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "session/options.h"

namespace trunnion::session {

inline constexpr std::string_view kEntrySuffix = ".trn";
// A folder of files that a process works with, while it holds the lock under the folder's name with ".lock" behind it.
inline constexpr std::string_view kWorkSuffix = ".files";
inline constexpr std::string_view kLockSuffix = ".lock";

struct CacheFolder {
  Logger logger;
  std::string who;  // in front of what is logged: "model cache"
  std::string path;
  uint64_t max_bytes = 0;

  // What session.cache_dir and session.cache_max_bytes say; nothing where no cache is asked for.
  static std::optional<CacheFolder> of(const Options& options, const Logger& logger, std::string who);

  std::string file(std::string_view name) const { return path + "/" + std::string(name); }
  // Removes the entries that were not used for longest, that of this name last, and what processes have left behind.
  void trim(std::string_view own) const;
};

// This build of the engine: size and time of its library. Empty where they cannot be told.
std::string engine_build();

}  // namespace trunnion::session
