#include "session/cache_folder.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/os.h"
#include "base/os_files.h"

namespace trunnion::session {
namespace {

constexpr int64_t kMaxBytes = int64_t{8} << 30;    // unless an option says otherwise
constexpr int64_t kAbandoned = 3'600'000'000'000;  // ns; a file in the making that is older is nobody's

// Locks whose holder has ended, and the folders that such a one worked in.
void remove_left_behind(const CacheFolder& folder, std::span<const os::FolderEntry> files) {
  for (const auto& e : files) {
    const bool unfinished = e.name.find(".trn.tmp.") != std::string::npos;
    if (unfinished && os::wall_ns() - e.modified_ns > kAbandoned) (void)os::remove_file(folder.file(e.name));
    if (e.name.ends_with(kLockSuffix)) (void)os::FileLock::try_take(folder.file(e.name));  // it goes when given back
  }
  const auto folders = os::list_subfolders(folder.path);
  if (!folders.ok()) return;
  for (const std::string& name : *folders) {
    if (!name.ends_with(kWorkSuffix)) continue;
    const auto lock = os::FileLock::try_take(folder.file(name) + std::string(kLockSuffix));
    if (lock.ok() && *lock) (void)os::remove_folder(folder.file(name));
  }
}

}  // namespace

std::optional<CacheFolder> CacheFolder::of(const Options& options, const Logger& logger, std::string who) {
  const auto path = options.entry("session.cache_dir");
  if (!path || path->empty()) return std::nullopt;
  const auto most = static_cast<uint64_t>(options.number("session.cache_max_bytes", kMaxBytes));
  return CacheFolder{logger, std::move(who), std::string(*path), most};
}

void CacheFolder::trim(std::string_view own) const {
  auto listed = os::list_folder(path);
  if (!listed.ok()) return;
  remove_left_behind(*this, *listed);
  uint64_t sum = 0;
  std::vector<os::FolderEntry> entries;
  for (auto& e : *listed) {
    if (!e.name.ends_with(kEntrySuffix)) continue;
    sum += e.size;
    if (e.name != own) entries.push_back(std::move(e));
  }
  std::sort(entries.begin(), entries.end(), [](auto& a, auto& b) { return a.modified_ns < b.modified_ns; });
  for (const auto& e : entries) {
    if (sum <= max_bytes) return;
    if (!os::remove_file(file(e.name)).ok()) continue;  // another process was faster
    sum -= e.size;
    TRN_LOG(logger, info, "{}: removed {} ({} bytes): the limit is {} bytes", who, e.name, e.size, max_bytes);
  }
}

std::string engine_build() {
  const std::string library = os::file_of(reinterpret_cast<const void*>(&engine_build));
  const auto id = library.empty() ? error(Code::fail, "") : os::file_identity(library);
  return id.ok() ? fmt::format("{} {}", id->size, id->modified_ns) : std::string();
}

}  // namespace trunnion::session
