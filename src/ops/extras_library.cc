#include "ops/extras_library.h"

#include <atomic>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/os.h"

namespace trunnion::ops {
namespace {

constexpr const char* kVariable = "TRUNNION_EXTRAS_LIBRARY";
constexpr std::string_view kFile = "libtrunnion_extras.so.1";

struct Part {
  std::string_view library, package;
};
// In the order of TrunnionExtrasPart.
constexpr Part kParts[] = {{"RE2", "libre2-dev"},          {"libjpeg", "libjpeg-dev"},
                           {"libpng", "libpng-dev"},       {"libwebp", "libwebp-dev"},
                           {"libtiff", "libtiff-dev"},     {"OpenJPEG", "libopenjp2-7-dev"},
                           {"the BMP reader", "no other"}, {"the PNM reader", "no other"}};
static_assert(std::size(kParts) == TRUNNION_EXTRAS_PARTS);

std::string wanted(int part) {
  return fmt::format("{} (Debian package {})", kParts[part].library, kParts[part].package);
}

// The folder of a path, with the slash; "" for a bare name.
std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

std::vector<std::string> candidates() {
  if (const auto given = os::environment(kVariable); given && !given->empty()) return {*given};
  std::vector<std::string> paths;
  const std::string own = os::file_of(reinterpret_cast<const void*>(&candidates));
  const auto add = [&](const std::string& folder) {
    const std::string path = folder + std::string(kFile);
    if (!folder.empty() && os::file_kind(path) == os::FileKind::regular && (paths.empty() || paths[0] != path))
      paths.push_back(path);
  };
  add(folder_of(own));
  if (const auto real = os::canonical(own); real.ok()) add(folder_of(*real));  // what the name is a link to
  paths.emplace_back(kFile);
  return paths;
}

Result<const TrunnionExtras*> open(const std::string& path) {
  TRN_ASSIGN(os::Library library, os::Library::open(path));
  TRN_ASSIGN(void* entry, library.symbol("trunnion_extras"));
  const TrunnionExtras* table = reinterpret_cast<TrunnionExtrasEntry>(entry)();
  if (!table || table->version != TRUNNION_EXTRAS_VERSION)
    return error(Code::fail, "'{}' has version {} of its interface, {} is needed: it belongs to another build", path,
                 table ? table->version : 0, int{TRUNNION_EXTRAS_VERSION});
  library.leave_loaded();
  return table;
}

}  // namespace

Result<const TrunnionExtras*> load_extras(std::string_view what) {
  // Two threads may both load: the system counts, and both get the same table. A failure is not kept, so that a library
  // put in its place counts for the next session.
  static std::atomic<const TrunnionExtras*> loaded{nullptr};
  if (const TrunnionExtras* table = loaded.load(std::memory_order_acquire)) return table;
  std::string tried;
  for (const std::string& path : candidates()) {
    const auto table = open(path);
    if (table.ok()) {
      loaded.store(*table, std::memory_order_release);
      return *table;
    }
    tried += (tried.empty() ? "" : "; ") + table.status().message();
  }
  return not_implemented("it needs {}, which {} brings, and that is not there: {}", what, kFile, tried);
}

Result<const TrunnionExtras*> load_extras(TrunnionExtrasPart part) {
  TRN_ASSIGN(const TrunnionExtras* table, load_extras(wanted(part)));
  if (!(table->parts >> part & 1)) return extras_left_out(part);
  return table;
}

Status extras_left_out(int part) {
  return not_implemented("it needs {}, and {} was built without", wanted(part), kFile);
}

}  // namespace trunnion::ops
