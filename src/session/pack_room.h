// PackRoom: where the packed operands of one session come from while its kernels are made: from another session of the
// process that has packed the same, else packed here, on the session's threads, into large blocks.
#pragma once
#include <memory>
#include <unordered_set>
#include <vector>

#include "base/hash.h"
#include "base/mapped_file.h"
#include "base/thread_pool.h"
#include "ops/packing.h"
#include "session/pack_store.h"
#include "tensor/tensor_blocks.h"

namespace trunnion::session {

// Of all that a packed operand follows from but the operand's elements.
Hash128 pack_kind(const Tensor& operand, const ops::Packing& how);

// The same of what is made of a node's lists.
Hash128 pack_kind(const ir::Node& node, std::string_view layout);

struct PackRecord {
  Hash128 kind;
  Tensor packed;
  const ir::Node* node = nullptr;  // of what is made of lists: whose, and which
  std::span<const std::string_view> lists;
};

class PackRoom final : public ops::PackPlace {
 public:
  // The pool may be null. `bytes`: about how much will be packed. `files`: in which operands may lie.
  PackRoom(PackStore* store, ThreadPool* pool, int threads, size_t bytes,
           std::span<const std::shared_ptr<MappedFile>> files);

  Result<Tensor> pack(const Tensor& operand, const ops::Packing& how, ops::PackFill fill) override;
  Result<Tensor> pack_lists(const ir::Node& node, std::string_view layout, std::span<const std::string_view> lists,
                            ops::ListFill make) override;

  // Keeps a list of what is asked for, in order.
  void record() { recording_ = true; }
  const std::vector<PackRecord>& records() const { return records_; }
  bool recorded(const void* operand) const { return operands_.contains(operand); }

  size_t packed_bytes() const { return packed_; }  // all of them
  size_t shared_bytes() const { return shared_; }  // that another session had

 private:
  Result<Tensor> get(const Tensor& operand, const ops::Packing& how, ops::PackFill fill);
  void fill_all(const ops::Packing& how, ops::PackFill fill, const Tensor& source, void* to);
  Result<Tensor> shared(const Tensor& source, const ops::Packing& how, ops::PackFill fill, const Hash128& looks);

  PackStore* store_;
  ThreadPool* pool_;
  int threads_;
  TensorBlocks blocks_;
  // Files whose content their identity tells.
  struct Origin {
    std::shared_ptr<MappedFile> file;
    int64_t changed_ns;
  };
  std::vector<Origin> files_;
  Tensor compare_;  // room for a second packing
  size_t packed_ = 0, shared_ = 0;
  bool recording_ = false;
  std::vector<PackRecord> records_;
  std::unordered_set<const void*> operands_;
};

}  // namespace trunnion::session
