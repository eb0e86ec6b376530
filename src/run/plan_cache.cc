#include "run/plan_cache.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace trunnion::run {
namespace {

int64_t head_of(const KeyItem& item) {
  return item.view ? static_cast<int64_t>(item.view->dtype) << 8 | item.view->rank : int64_t{-1} - item.kind;
}

std::vector<int64_t> key_of(const KeyItems& items) {
  std::vector<int64_t> key;
  for (size_t i = 0; i < items.count; ++i) {
    const KeyItem item = items.item(i);
    key.push_back(head_of(item));
    if (item.view) key.insert(key.end(), item.view->dims, item.view->dims + item.view->rank);
  }
  return key;
}

// Whether key_of(items) is `key`. Keys of one plan have the same items, so the heads keep both in step.
bool matches(const std::vector<int64_t>& key, const KeyItems& items) {
  const int64_t *at = key.data(), *end = at + key.size();
  for (size_t i = 0; i < items.count; ++i) {
    const KeyItem item = items.item(i);
    if (at == end || *at++ != head_of(item)) return false;
    if (!item.view) continue;
    const auto shape = item.view->shape();
    if (end - at < static_cast<ptrdiff_t>(shape.size()) || !std::equal(shape.begin(), shape.end(), at)) return false;
    at += shape.size();
  }
  return at == end;
}

}  // namespace

PlanCache::Entry* PlanCache::look_up(Shelf& shelf, const plan::Segment* after, const KeyItems& key) {
  const auto is_it = [&](const Entry& e) { return e.after.get() == after && matches(e.key, key); };
  size_t at = shelf.recent;
  if (at >= shelf.entries.size() || !is_it(shelf.entries[at])) {
    at = static_cast<size_t>(std::find_if(shelf.entries.begin(), shelf.entries.end(), is_it) - shelf.entries.begin());
    if (at == shelf.entries.size()) return nullptr;
    shelf.recent = at;
  }
  shelf.entries[at].used = ++clock_;
  return &shelf.entries[at];
}

PlanCache::SegmentPtr PlanCache::find(const plan::Segment* after, const KeyItems& key) {
  std::lock_guard guard(lock_);
  const Entry* e = look_up(shelf(after), after, key);
  return e ? e->segment : nullptr;
}

PlanCache::SegmentPtr PlanCache::add(SegmentPtr after, const KeyItems& items, SegmentPtr segment) {
  Entry fresh{std::move(after), key_of(items), std::move(segment), 0};
  std::vector<Entry> gone;  // destroyed after the lock is free
  std::lock_guard guard(lock_);
  Shelf& to = shelf(fresh.after.get());
  if (const Entry* e = look_up(to, fresh.after.get(), items)) return e->segment;
  if (to.entries.size() >= (fresh.after ? kMaxFollowers : kMaxRoots)) {
    const auto oldest = std::min_element(to.entries.begin(), to.entries.end(),
                                         [](const Entry& a, const Entry& b) { return a.used < b.used; });
    gone.push_back(std::exchange(*oldest, std::move(to.entries.back())));
    to.entries.pop_back();
    // Nobody will ask for what followed it, nor for what followed that.
    for (size_t i = 0; i < gone.size(); ++i) {
      const plan::Segment* lost = gone[i].segment.get();
      for (size_t k = followers_.entries.size(); k-- > 0;) {
        if (followers_.entries[k].after.get() != lost) continue;
        gone.push_back(std::exchange(followers_.entries[k], std::move(followers_.entries.back())));
        followers_.entries.pop_back();
      }
    }
  }
  fresh.used = ++clock_;
  to.entries.push_back(std::move(fresh));
  to.recent = to.entries.size() - 1;
  return to.entries.back().segment;
}

size_t PlanCache::roots() const {
  std::lock_guard guard(lock_);
  return roots_.entries.size();
}

size_t PlanCache::followers() const {
  std::lock_guard guard(lock_);
  return followers_.entries.size();
}

}  // namespace trunnion::run
