// ModelCache: the planned and packed model on disk, where `session.cache_dir` says so. A session that finds its entry
// maps it: it runs no pass, packs nothing and does not read the weights of the model. docs/load.md tells the rules.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "onnx/model_view.h"
#include "session/cache_entry.h"
#include "session/options.h"
#include "session/pack_room.h"

namespace trunnion::session {

// Packed operands out of an entry, in the order in which they were asked for when it was made.
class CachedPacks final : public ops::PackPlace {
 public:
  explicit CachedPacks(const CacheEntry& entry) : entry_(entry) {}
  Result<Tensor> pack(const Tensor& operand, const ops::Packing& how, ops::PackFill fill) override;
  bool all_taken() const { return next_ == entry_.index().packs.size(); }

 private:
  const CacheEntry& entry_;
  size_t next_ = 0;
};

class ModelCache {
 public:
  // Null when the options ask for none, or when the model cannot be cached (which is logged). `view` is of `bytes`.
  static std::unique_ptr<ModelCache> of(const Options& options, const Logger& logger, const onnx::ModelView& view,
                                        std::span<const std::byte> bytes);

  // The files that the model came from; none where it came from memory.
  void set_files(std::vector<std::shared_ptr<MappedFile>> files) { files_ = std::move(files); }

  // The graph of the entry, to stand for `graph`. Null when there is none; why, or why it is not used, is logged.
  std::unique_ptr<ir::Graph> find(const ir::Graph& graph);
  const CacheEntry& entry() const { return *entry_; }
  void drop(const Status& why);  // the entry that was found cannot be used

  // Makes an entry of a model whose program is built: `packs` is what its kernels asked for. A failure is logged.
  void store(ir::Model& model, std::span<const PackRecord> packs);

 private:
  ModelCache(const Logger& logger, std::string folder, uint64_t max_bytes, std::span<const std::byte> bytes)
      : logger_(logger), folder_(std::move(folder)), max_bytes_(max_bytes), bytes_(bytes) {}
  Result<std::unique_ptr<ir::Graph>> load(const ir::Graph& like);
  Status check_files(const CacheIndex& index) const;
  std::vector<FileStamp> stamps(bool with_content) const;
  Status write(ir::Model& model, std::span<const PackRecord> packs, uint64_t& bytes);
  void evict();
  std::string path() const { return folder_ + "/" + to_hex(key_) + ".trn"; }

  Logger logger_;
  std::string folder_;
  uint64_t max_bytes_;
  std::span<const std::byte> bytes_;
  Hash128 key_;
  std::vector<std::shared_ptr<MappedFile>> files_;
  std::unique_ptr<CacheEntry> entry_;
};

}  // namespace trunnion::session
