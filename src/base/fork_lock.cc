#include "base/fork_lock.h"

#include "base/os.h"

namespace trunnion {

struct ForkLock::Registry {
  std::mutex mutex;
  ForkLock* first = nullptr;

  static Registry& get() {
    static Registry* registry = [] {
      auto* made = new Registry;  // never destroyed: locks may outlive static objects
      (void)os::on_fork(take_all, give_all, give_all);
      return made;
    }();
    return *registry;
  }
  static void take_all() {
    get().mutex.lock();
    for (ForkLock* l = get().first; l; l = l->next_) l->mutex_.lock();
  }
  static void give_all() {
    for (ForkLock* l = get().first; l; l = l->next_) l->mutex_.unlock();
    get().mutex.unlock();
  }
};

ForkLock::ForkLock() {
  Registry& registry = Registry::get();
  std::lock_guard guard(registry.mutex);
  next_ = registry.first;
  if (next_) next_->previous_ = this;
  registry.first = this;
}

ForkLock::~ForkLock() {
  Registry& registry = Registry::get();
  std::lock_guard guard(registry.mutex);
  if (next_) next_->previous_ = previous_;
  (previous_ ? previous_->next_ : registry.first) = next_;
}

}  // namespace trunnion
