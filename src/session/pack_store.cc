#include "session/pack_store.h"

#include <algorithm>
#include <mutex>

namespace trunnion::session {

Tensor PackStore::alive(const Entry& e) {
  auto owner = e.owner.lock();
  if (!owner) return {};
  const int64_t size[] = {e.count};
  return Tensor::borrow(e.dtype, size, e.data, std::move(owner));
}

Tensor PackStore::from_origin(const Hash128& origin) {
  std::lock_guard guard(lock_);
  const auto it = by_origin_.find(origin);
  return it == by_origin_.end() ? Tensor() : alive(it->second);
}

std::vector<Tensor> PackStore::alike(const Hash128& looks) {
  std::vector<Tensor> out;
  std::lock_guard guard(lock_);
  for (auto [it, end] = by_looks_.equal_range(looks); it != end; ++it)
    if (Tensor t = alive(it->second); t.valid()) out.push_back(std::move(t));
  return out;
}

void PackStore::add(const Hash128* origin, const Hash128& looks, const Tensor& packed) {
  const Entry entry{packed.keep_alive(), packed.dtype(), packed.count(), packed.raw()};
  std::lock_guard guard(lock_);
  if (origin) by_origin_.insert_or_assign(*origin, entry);
  bool known = false;
  for (auto [it, end] = by_looks_.equal_range(looks); it != end; ++it)
    known = known || (it->second.data == packed.raw() && !it->second.owner.expired());
  if (!known) by_looks_.emplace(looks, entry);
  if (by_origin_.size() + by_looks_.size() > next_sweep_) forget_dead();
}

void PackStore::forget_dead() {
  std::erase_if(by_origin_, [](const auto& e) { return e.second.owner.expired(); });
  std::erase_if(by_looks_, [](const auto& e) { return e.second.owner.expired(); });
  next_sweep_ = std::max<size_t>(256, 2 * (by_origin_.size() + by_looks_.size()));
}

size_t PackStore::size() const {
  std::lock_guard guard(lock_);
  size_t n = 0;
  for (const auto& e : by_looks_) n += !e.second.owner.expired();
  return n;
}

}  // namespace trunnion::session
