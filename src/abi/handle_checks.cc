#include "abi/handle_checks.h"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "base/error.h"

namespace trunnion::abi {
#if TRN_CHECK_HANDLES
namespace {

// By address; one address may be that of an object and of its first member. Kinds are compared by their text: it may
// lie at several places.
struct Live {
  std::mutex mutex;
  std::set<std::pair<const void*, std::string>> handles;

  static Live& all() {
    static Live* live = new Live;  // never destroyed: handles may outlive static objects
    return *live;
  }
};

}  // namespace

Status check_live(const void* handle, const char* kind) {
  Live& live = Live::all();
  const std::lock_guard guard(live.mutex);
  if (live.handles.contains({handle, kind})) return {};
  const auto other = live.handles.lower_bound({handle, ""});
  if (other != live.handles.end() && other->first == handle)
    return invalid_argument("{} is a handle of the wrong kind: {}, not {}", handle, other->second, kind);
  return invalid_argument("{} is no {} that lives: it was released, or is no handle", handle, kind);
}

void note_live(const void* handle, const char* kind) {
  Live& live = Live::all();
  const std::lock_guard guard(live.mutex);
  live.handles.emplace(handle, kind);
}

void note_gone(const void* handle, const char* kind) {
  Live& live = Live::all();
  const std::lock_guard guard(live.mutex);
  live.handles.erase({handle, kind});
}

void complain(const char* function, const Status& status) {
  std::fprintf(stderr, "%s: %s\n", function, status.message().c_str());
}

#endif
}  // namespace trunnion::abi
