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

// What a kernel keeps for a plan is known to the kernel alone: a table or two.
constexpr size_t kStateBytes = 768;

size_t bytes_of(const plan::Segment& s) {
  size_t n = sizeof s + s.steps.size() * sizeof(plan::PlannedStep) + s.spots.size() * sizeof(plan::Spot);
  for (const auto& step : s.steps) n += step.state ? kStateBytes : 0;
  for (const Tensor& t : s.constants) n += sizeof t + t.bytes();
  return n;
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
  const size_t bytes = bytes_of(*segment);
  Entry fresh{std::move(after), key_of(items), std::move(segment), 0, bytes};
  std::vector<Entry> gone;  // destroyed after the lock is free
  std::lock_guard guard(lock_);
  Shelf& to = shelf(fresh.after.get());
  if (const Entry* e = look_up(to, fresh.after.get(), items)) return e->segment;
  const bool root = !fresh.after;
  const size_t most = root ? kMaxRoots : kMaxFollowers, least = root ? kLeastRoots : kLeastFollowers;
  const size_t most_bytes = root ? kMaxRootBytes : kMaxFollowerBytes;
  while (to.entries.size() >= most || (to.bytes + bytes > most_bytes && to.entries.size() >= least)) {
    const auto oldest = std::min_element(to.entries.begin(), to.entries.end(),
                                         [](const Entry& a, const Entry& b) { return a.used < b.used; });
    size_t first = gone.size();
    take(to, static_cast<size_t>(oldest - to.entries.begin()), gone);
    // Nobody will ask for what followed it, nor for what followed that.
    for (; first < gone.size(); ++first) {
      const plan::Segment* lost = gone[first].segment.get();
      for (size_t k = followers_.entries.size(); k-- > 0;)
        if (followers_.entries[k].after.get() == lost) take(followers_, k, gone);
    }
  }
  fresh.used = ++clock_;
  to.bytes += bytes;
  to.entries.push_back(std::move(fresh));
  to.recent = to.entries.size() - 1;
  return to.entries.back().segment;
}

void PlanCache::take(Shelf& shelf, size_t at, std::vector<Entry>& to) {
  shelf.bytes -= shelf.entries[at].bytes;
  to.push_back(std::exchange(shelf.entries[at], std::move(shelf.entries.back())));
  shelf.entries.pop_back();
}

size_t PlanCache::bytes() const {
  std::lock_guard guard(lock_);
  return roots_.bytes + followers_.bytes;
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
