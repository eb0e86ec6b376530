// PackStore: the packed operands of a process, shared by content between its sessions. It holds nothing alive: what no
// session uses any more is gone.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/fork_lock.h"
#include "base/hash.h"
#include "tensor/tensor.h"

namespace trunnion::session {

class PackStore {
 public:
  // What was packed from the same bytes of the same file; invalid when there is nothing.
  Tensor from_origin(const Hash128& origin);
  // What may have been packed from the same elements: whoever asks compares.
  std::vector<Tensor> alike(const Hash128& looks);
  // `origin` is null where the operand lies in no file.
  void add(const Hash128* origin, const Hash128& looks, const Tensor& packed);
  size_t size() const;  // of what is alive

 private:
  struct Entry {
    std::weak_ptr<const void> owner;
    DType dtype;
    int64_t count;
    void* data;
  };
  static Tensor alive(const Entry& e);
  void forget_dead();

  mutable ForkLock lock_;
  std::unordered_map<Hash128, Entry> by_origin_;
  std::unordered_multimap<Hash128, Entry> by_looks_;
  size_t next_sweep_ = 256;
};

}  // namespace trunnion::session
