// ModelCache: the planned and packed model on disk, where `session.cache_dir` says so. A session that finds its entry
// maps it: it runs no pass, packs nothing and does not read the weights of the model. docs/load.md tells the rules.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "ir/graph.h"
#include "onnx/external_data.h"
#include "session/cache_entry.h"
#include "session/cache_folder.h"
#include "session/options.h"
#include "session/pack_room.h"

namespace trunnion::session {

// Packed operands out of an entry, in the order in which they were asked for when it was made.
class CachedPacks final : public ops::PackPlace {
 public:
  explicit CachedPacks(const CacheEntry& entry) : entry_(entry) {}
  Result<Tensor> pack(const Tensor& operand, const ops::Packing& how, ops::PackFill fill) override;
  Result<Tensor> pack_lists(const ir::Node& node, std::string_view layout, std::span<const std::string_view> lists,
                            ops::ListFill make) override;
  bool all_taken() const { return next_ == entry_.index().packs.size(); }

 private:
  Result<const CachedPack*> next(const Hash128& kind);
  Tensor view(const CachedPack& pack) const;
  const CacheEntry& entry_;
  size_t next_ = 0;
};

class ModelCache {
 public:
  // Null when the options ask for none, or when the model cannot be cached (which is logged). `bytes`: of the model.
  static std::unique_ptr<ModelCache> of(const Options& options, const Logger& logger, std::span<const std::byte> bytes);

  // The model as an entry has it, where none of its files has changed since: then it need not be read. Nothing where
  // there is no such entry, or where that takes more than looking at the files; find() has the last word then.
  struct Unread {
    ir::Model model;
    std::string ports;
  };
  std::optional<Unread> find_unread(const MappedFile& file, const onnx::ExternalData& external);

  // The files that the model came from: its own, null where it came from memory, and those of its external data.
  void set_files(std::shared_ptr<MappedFile> model, const onnx::ExternalData& external);

  // The graph of the entry, to stand for `graph`. Null when there is none; why, or why it is not used, is logged.
  std::unique_ptr<ir::Graph> find(const ir::Graph& graph);
  const CacheEntry& entry() const { return *entry_; }
  void drop(const Status& why);  // the entry that was found cannot be used

  // Makes an entry of a model whose program is built: `packs` is what its kernels asked for. A failure is logged.
  // `ports`: of the model, for find_unread(); empty where every session has to read it.
  void store(ir::Model& model, std::span<const PackRecord> packs, std::string ports);

 private:
  ModelCache(CacheFolder folder, std::span<const std::byte> bytes) : folder_(std::move(folder)), bytes_(bytes) {}
  Result<ir::Model> read(CacheEntry entry);
  Result<std::unique_ptr<ir::Graph>> load(const ir::Graph& like);
  Status check_files(const CacheIndex& index) const;
  Result<std::vector<FileStamp>> stamps(bool with_content) const;
  Status write(ir::Model& model, std::span<const PackRecord> packs, std::string ports, uint64_t& bytes);
  std::string name() const { return to_hex(key_) + std::string(kEntrySuffix); }
  std::string path() const { return folder_.file(name()); }

  CacheFolder folder_;
  std::span<const std::byte> bytes_;
  Hash128 key_;
  const int64_t begun_ns_ = os::wall_ns();  // before any of the files was opened but the model's own
  std::shared_ptr<MappedFile> model_file_;
  std::vector<std::shared_ptr<MappedFile>> data_files_;
  onnx::ExternalData::Locations locations_;
  std::unique_ptr<CacheEntry> entry_;
};

}  // namespace trunnion::session
