// Hooks by which the workers of a pool treat denormal numbers as zero, before they call those of the client.
#pragma once
#include "base/denormals.h"
#include "base/thread_pool.h"

namespace trunnion::session {

// `then` must outlive the pool. The workers stay so: the pool is for nobody else.
inline WorkHooks flushing_hooks(WorkHooks& then) {
  WorkHooks hooks;
  hooks.user = &then;
  hooks.start = [](void* user, void* data) {
    flush_denormals();
    if (const auto& h = *static_cast<WorkHooks*>(user); h.start) h.start(h.user, data);
  };
  if (then.enqueue)
    hooks.enqueue = [](void* user) {
      const auto& h = *static_cast<WorkHooks*>(user);
      return h.enqueue(h.user);
    };
  if (then.stop)
    hooks.stop = [](void* user, void* data) {
      const auto& h = *static_cast<WorkHooks*>(user);
      h.stop(h.user, data);
    };
  if (then.abandon)
    hooks.abandon = [](void* user, void* data) {
      const auto& h = *static_cast<WorkHooks*>(user);
      h.abandon(h.user, data);
    };
  return hooks;
}

}  // namespace trunnion::session
