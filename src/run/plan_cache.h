// PlanCache: the plans that one program has been given, found by shapes. A plan for the start of the program is found
// by the shapes of the feeds, one that follows another plan by that plan and the shapes that its last step gave.
#pragma once
#include <memory>
#include <vector>

#include "base/fork_lock.h"
#include "base/function_ref.h"
#include "plan/program.h"

namespace trunnion::run {

// What counts of a value: type and dimensions of a tensor, else only its kind.
struct KeyItem {
  const TensorView* view = nullptr;  // null: not a tensor
  int kind = 0;
};

// The values of a key, one after the other. Looking a plan up allocates nothing.
struct KeyItems {
  size_t count = 0;
  FunctionRef<KeyItem(size_t)> item;
};

class PlanCache {
 public:
  using SegmentPtr = std::shared_ptr<const plan::Segment>;
  static constexpr size_t kMaxRoots = 64;       // plans for the start of the program
  static constexpr size_t kMaxFollowers = 256;  // all others
  // About so many bytes are kept, but always a few plans: a run may need many followers.
  static constexpr size_t kMaxRootBytes = size_t{4} << 20, kMaxFollowerBytes = size_t{16} << 20;
  static constexpr size_t kLeastRoots = 4, kLeastFollowers = 64;

  // `after` is null for the start of the program. Null when there is no such plan.
  SegmentPtr find(const plan::Segment* after, const KeyItems& key);
  // Keeps a plan; where the cache is full, the least recently used goes. Gives the plan to use: another thread may have
  // been faster.
  SegmentPtr add(SegmentPtr after, const KeyItems& key, SegmentPtr segment);

  size_t roots() const;
  size_t followers() const;
  size_t bytes() const;  // of all plans, about

 private:
  struct Entry {
    SegmentPtr after;
    std::vector<int64_t> key;
    SegmentPtr segment;
    uint64_t used = 0;
    size_t bytes = 0;
  };
  struct Shelf {
    std::vector<Entry> entries;
    size_t bytes = 0;
    size_t recent = 0;  // where the last look-up found something
  };
  Shelf& shelf(const plan::Segment* after) { return after ? followers_ : roots_; }
  static void take(Shelf& shelf, size_t at, std::vector<Entry>& to);
  Entry* look_up(Shelf& shelf, const plan::Segment* after, const KeyItems& key);

  mutable ForkLock lock_;
  Shelf roots_, followers_;
  uint64_t clock_ = 0;
};

}  // namespace trunnion::run
