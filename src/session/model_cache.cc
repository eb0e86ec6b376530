#include "session/model_cache.h"

#include <algorithm>
#include <map>

#include "base/cpu_info.h"
#include "base/cpu_units.h"
#include "base/error.h"
#include "base/os.h"
#include "base/os_files.h"
#include "ir/names.h"
#include "onnx/exporter.h"
#include "onnx/external_data.h"
#include "onnx/importer.h"
#include "onnx/reader.h"
#include "ops/catalog.h"

namespace trunnion::session {
namespace {

constexpr size_t kWeight = size_t{64} << 10;      // bytes; data of tensors from this size on is only glanced at
constexpr size_t kMostLists = size_t{256} << 10;  // bytes; more, and more than is packed, gain nothing
constexpr size_t kPiece = size_t{16} << 20;
constexpr std::string_view kInFile = "entry", kGone = "packed";

// This build of the engine, and what of the CPU its kernels choose their layouts by. Empty when it cannot be told.
std::string engine_text() {
  const std::string build = engine_build();
  if (build.empty()) return {};
  return fmt::format("{} {} {}{}{}{}", build, rung_name(active_rung()), active_avx512_vnni(), active_bf16_dot(),
                     active_amx_bf16(), active_amx_int8());
}

// Settings that change what a graph becomes: all but those that are known to change nothing of it.
std::string options_text(const Options& o) {
  std::string out = fmt::format("{} {}", static_cast<int>(o.optimization_level), o.deterministic);
  for (const auto& [key, value] : o.config)
    if (!key.starts_with("session.cache_") && !key.starts_with("session.intra_op") && key != "session.map_model")
      out += fmt::format("\n{}:{}={}:{}", key.size(), key, value.size(), value);
  for (const auto* list : {&o.dimension_by_name, &o.dimension_by_denotation})
    for (const auto& [name, size] : *list)
      out += fmt::format("\n{} {}:{}={}", list == &o.dimension_by_name, name.size(), name, size);
  return out;
}

// The bytes of a model, of large weights only the beginning, the middle and the end.
Hash128 structure(std::span<const std::byte> bytes) {
  const auto weights = onnx::large_weights(bytes, kWeight);
  Hash128 h{bytes.size(), weights.size()};
  size_t at = 0;
  for (const auto w : weights) {
    const auto begin = static_cast<size_t>(w.data() - bytes.data());
    if (begin < at) continue;
    h = hash_combine(h, hash128(bytes.subspan(at, begin - at)));
    for (const size_t look : {size_t{0}, w.size() / 2, w.size() - 64})
      h = hash_combine(h, hash128(w.subspan(look, 64), w.size()));
    at = begin + w.size();
  }
  return hash_combine(h, hash128(bytes.subspan(at)));
}

// Of the lists in attributes: forests, tables of labels. They are read with the graph, whoever it is read from.
size_t attribute_bytes(const ir::Graph& graph) {
  size_t n = 0;
  graph.for_each_node_deep([&](ir::Node* node) {
    for (const ir::Attr& a : node->attrs()) {
      if (const auto* v = a.get<ir::Attr::Ints>()) n += v->size() * sizeof(int64_t);
      if (const auto* v = a.get<ir::Attr::Floats>()) n += v->size() * sizeof(float);
      if (const auto* v = a.get<ir::Attr::Strings>()) n += v->size() * sizeof(std::string);
    }
  });
  return n;
}

// Lists that live on in what was packed of them: the entry does without, and so does the graph from here on.
void drop_lists(ir::Graph& graph, std::span<const PackRecord> packs) {
  std::map<const ir::Node*, std::span<const std::string_view>> dropped;
  for (const PackRecord& p : packs)
    if (p.node) dropped.emplace(p.node, p.lists);
  if (dropped.empty()) return;
  graph.for_each_node_deep([&](ir::Node* n) {
    const auto it = dropped.find(n);
    if (it == dropped.end()) return;
    for (const std::string_view name : it->second) {
      const ir::Attr* a = n->find_attr(name);
      if (!a) continue;
      if (a->get<ir::Attr::Ints>()) n->set_attr(std::string(name), ir::Attr::Ints{});
      if (a->get<ir::Attr::Floats>()) n->set_attr(std::string(name), ir::Attr::Floats{});
      if (a->get<ir::Attr::Strings>()) n->set_attr(std::string(name), ir::Attr::Strings{});
    }
  });
}

void describe_nodes(const ir::Graph& graph, CacheIndex& index) {
  graph.for_each_node_deep([&](ir::Node* n) {
    index.opsets.push_back(n->opset());
    index.origins.push_back(n->origins);
    index.operators = hash_combine(index.operators, hash128(n->op_type(), hash64(n->domain())));
  });
}

// Piece by piece, so that never more of a file is in memory; the same for bytes that lie in no file.
Hash128 content_of(std::span<const std::byte> bytes, const MappedFile* file) {
  Hash128 h{};
  for (size_t at = 0; at < bytes.size(); at += kPiece) {
    const auto piece = bytes.subspan(at, std::min(kPiece, bytes.size() - at));
    h = hash_combine(h, hash128(piece));
    if (file) file->drop_pages(at, piece.size());
  }
  return h;
}

// Whether a file is the one that the entry was made of, and nobody has written into it since.
bool unchanged(const FileStamp& now, const FileStamp& then) {
  return now.identity == then.identity && now.changed_ns == then.changed_ns;
}

}  // namespace

Result<const CachedPack*> CachedPacks::next(const Hash128& kind) {
  const auto& packs = entry_.index().packs;
  if (next_ == packs.size()) return error(Code::fail, "a kernel packs more operands than the entry has");
  const CachedPack& p = packs[next_++];
  if (p.kind != kind)
    return error(Code::fail, "a kernel packs operand {} another way than the entry has it", next_ - 1);
  return &p;
}

Tensor CachedPacks::view(const CachedPack& pack) const {
  const int64_t size[] = {pack.count};
  auto* data = const_cast<std::byte*>(entry_.file()->bytes().data()) + pack.offset;
  return Tensor::borrow(pack.dtype, size, data, entry_.file());
}

Result<Tensor> CachedPacks::pack(const Tensor& operand, const ops::Packing& how, ops::PackFill) {
  TRN_ASSIGN(const CachedPack* p, next(pack_kind(operand, how)));
  if (p->dtype != how.dtype || p->count != how.count)
    return error(Code::fail, "operand {} of the entry is not what a kernel packs", next_ - 1);
  return view(*p);
}

Result<Tensor> CachedPacks::pack_lists(const ir::Node& node, std::string_view layout, std::span<const std::string_view>,
                                       ops::ListFill) {
  TRN_ASSIGN(const CachedPack* p, next(pack_kind(node, layout)));
  if (p->dtype != DType::u8) return error(Code::fail, "operand {} of the entry is not what a kernel packs", next_ - 1);
  return view(*p);
}

std::unique_ptr<ModelCache> ModelCache::of(const Options& options, const Logger& logger,
                                           std::span<const std::byte> bytes) {
  auto folder = CacheFolder::of(options, logger, "model cache");
  if (!folder) return nullptr;
  const auto off = [&](std::string_view why) {
    TRN_LOG(logger, warning, "model cache: not used, {}", why);
    return nullptr;
  };
  const std::string engine = engine_text();
  if (engine.empty()) return off("the file of the engine is not known");
  if (!options.initializers.empty() || !options.external_initializers.empty() || !options.external_files.empty())
    return off("weights come from the program");
  std::unique_ptr<ModelCache> c(new ModelCache(*std::move(folder), bytes));
  c->key_ = hash_combine(hash_combine(hash128(engine), hash128(options_text(options))), structure(bytes));
  return c;
}

void ModelCache::set_files(std::shared_ptr<MappedFile> model, const onnx::ExternalData& external) {
  model_file_ = std::move(model);
  data_files_ = external.files();
  locations_ = external.locations();
}

// Of the files of external data, and of the model behind them.
Result<std::vector<FileStamp>> ModelCache::stamps(bool with_content) const {
  std::vector<FileStamp> out;
  const auto add = [&](const MappedFile& f) -> Status {
    FileStamp& s = out.emplace_back();
    s.identity = f.identity();
    TRN_ASSIGN(s.changed_ns, os::changed_ns(f.path()));
    if (with_content) s.content = content_of(f.bytes(), &f);
    return {};
  };
  for (const auto& f : data_files_) TRN_TRY(add(*f));
  if (model_file_) {
    TRN_TRY(add(*model_file_));
    return out;
  }
  FileStamp& memory = out.emplace_back();
  if (with_content) memory.content = content_of(bytes_, nullptr);
  return out;
}

// Files that are those of the entry need not be read. Others may be copies of them.
Status ModelCache::check_files(const CacheIndex& index) const {
  TRN_ASSIGN(const auto now, stamps(false));
  bool same = now.size() == index.files.size() && model_file_;
  for (size_t i = 0; i < now.size() && same; ++i) same = unchanged(now[i], index.files[i]);
  if (same) return {};
  TRN_ASSIGN(const auto read, stamps(true));
  same = read.size() == index.files.size();
  for (size_t i = 0; i < read.size() && same; ++i) same = read[i].content == index.files[i].content;
  if (!same) return error(Code::fail, "the entry is stale: the model has changed since");
  return {};
}

Result<ir::Model> ModelCache::read(CacheEntry entry) {
  const CacheIndex& index = entry.index();
  const auto all = entry.file()->bytes();
  os::advise(const_cast<std::byte*>(all.data()), all.size(), os::Advice::huge_pages);
  onnx::ExternalData external(".");
  external.add_memory_file(std::string(kInFile), all, entry.file());
  // Elements that were packed and are not looked at again.
  external.add_memory_file(std::string(kGone),
                           std::span<const std::byte>(static_cast<const std::byte*>(nullptr), SIZE_MAX / 2),
                           entry.file());
  onnx::TensorSource tensors;
  tensors.keep_alive = entry.file();
  tensors.external = &external;
  TRN_ASSIGN(onnx::ModelView view, onnx::parse(all.subspan(index.graph_offset, index.graph_bytes), path()));
  TRN_ASSIGN(ir::Model model, onnx::import_model(std::move(view), tensors, {}));
  CacheIndex found;
  describe_nodes(*model.graph, found);
  if (found.operators != index.operators || found.opsets.size() != index.opsets.size() ||
      index.origins.size() != index.opsets.size())
    return error(Code::fail, "the entry's graph is not the one that it was made of");
  size_t i = 0;
  model.graph->for_each_node_deep([&](ir::Node* n) {
    if (n->opset() != index.opsets[i]) n->graph()->change_op(n, n->op_type(), n->domain(), index.opsets[i]);
    n->origins = index.origins[i++];
  });
  TRN_TRY(ops::resolve(*model.graph));
  TRN_TRY(ops::infer(*model.graph));
  entry_ = std::make_unique<CacheEntry>(std::move(entry));
  return model;
}

Result<std::unique_ptr<ir::Graph>> ModelCache::load(const ir::Graph& like) {
  TRN_ASSIGN(CacheEntry entry, CacheEntry::open(path(), key_));
  TRN_TRY(check_files(entry.index()));
  TRN_ASSIGN(ir::Model model, read(std::move(entry)));
  if (model.graph->inputs().size() != like.inputs().size() || model.graph->outputs().size() != like.outputs().size())
    return error(Code::fail, "the entry's graph is not the one that it was made of");
  return std::move(model.graph);
}

std::optional<ModelCache::Unread> ModelCache::find_unread(const MappedFile& file, const onnx::ExternalData& external) {
  auto entry = CacheEntry::open(path(), key_);
  if (!entry.ok()) return std::nullopt;
  const CacheIndex& index = entry->index();
  if (index.ports.empty() || index.files.empty()) return std::nullopt;
  const auto changed = os::changed_ns(file.path());
  if (!changed.ok() || !unchanged({file.identity(), *changed, {}}, index.files.back())) return std::nullopt;
  // The names are followed anew: a link may lead to another file now.
  for (const DataName& d : index.data) {
    const auto at = external.path_of(d.location);
    const auto id = at.ok() ? os::file_identity(*at) : at.status();
    const auto time = at.ok() ? os::changed_ns(*at) : at.status();
    if (!id.ok() || !time.ok() || !unchanged({*id, *time, {}}, index.files[d.file])) return std::nullopt;
  }
  Unread out;
  out.ports = index.ports;
  const std::string name = index.graph_name;
  auto model = read(std::move(*entry));
  if (!model.ok()) return std::nullopt;
  out.model = std::move(*model);
  out.model.graph->name = name;
  os::touch(path());
  TRN_LOG(folder_.logger, info, "model cache: hit, {}", path());
  return out;
}

std::unique_ptr<ir::Graph> ModelCache::find(const ir::Graph& graph) {
  auto found = load(graph);
  if (found.ok()) {
    os::touch(path());
    TRN_LOG(folder_.logger, info, "model cache: hit, {}", path());
    return std::move(found).value();
  }
  const Status& status = found.status();
  if (status.code() == Code::no_such_file)
    TRN_LOG(folder_.logger, info, "model cache: miss, {}: no entry for this model, engine, CPU level and options",
            path());
  else
    TRN_LOG(folder_.logger, warning, "model cache: miss, {}: {}", path(), status.message());
  return nullptr;
}

void ModelCache::drop(const Status& why) {
  TRN_LOG(folder_.logger, warning, "model cache: miss, {}: {}", path(), why.message());
  entry_.reset();
}

Status ModelCache::write(ir::Model& model, std::span<const PackRecord> packs, std::string ports, uint64_t& bytes) {
  TRN_TRY(os::make_folder(folder_.path));
  TRN_ASSIGN(CacheFileWriter out, CacheFileWriter::create(path()));
  CacheIndex index;
  TRN_ASSIGN(index.files, stamps(true));
  for (const auto& f : data_files_)
    if (f->changed()) return error(Code::fail, "{} has changed since it was opened", f->path());
  if (model_file_ && model_file_->changed())
    return error(Code::fail, "{} has changed since it was opened", model_file_->path());
  for (FileStamp& f : index.files)
    if (!os::change_would_show(f.changed_ns, begun_ns_)) f.identity = {};
  if (model_file_) {
    index.ports = std::move(ports);
    index.graph_name = model.graph->name;
    for (const auto& [location, file] : locations_) {
      const auto at = std::find(data_files_.begin(), data_files_.end(), file);
      index.data.push_back({location, static_cast<uint64_t>(at - data_files_.begin())});
    }
  }
  std::map<const void*, uint64_t> written;  // operands that two kernels share
  for (const PackRecord& p : packs) {
    auto [it, fresh] = written.try_emplace(p.packed.raw(), 0);
    if (fresh) {
      TRN_ASSIGN(it->second, out.add({p.packed.data<const std::byte>(), p.packed.bytes()}));
    }
    bytes += fresh ? p.packed.bytes() : 0;
    index.packs.push_back({p.kind, p.packed.dtype(), p.packed.count(), it->second});
  }
  ir::separate_names(*model.graph);  // in a file, names of bodies and of the graph around them are one space
  describe_nodes(*model.graph, index);
  const auto place = [&](const onnx::TensorProtoView& t) -> Result<std::optional<onnx::ExternalPlace>> {
    if (t.raw_data.empty()) return std::optional<onnx::ExternalPlace>();
    if (!t.raw_data.data()) return std::optional(onnx::ExternalPlace{std::string(kGone), 0, t.raw_data.size()});
    auto [it, fresh] = written.try_emplace(t.raw_data.data(), 0);
    if (fresh) {
      TRN_ASSIGN(it->second, out.add(t.raw_data));
    }
    return std::optional(onnx::ExternalPlace{std::string(kInFile), it->second, t.raw_data.size()});
  };
  TRN_ASSIGN(const auto graph, onnx::export_bytes(model, place));
  TRN_ASSIGN(index.graph_offset, out.add(graph));
  index.graph_bytes = graph.size();
  index.graph_hash = hash128(graph);
  return commit_entry(out, key_, index);
}

void ModelCache::store(ir::Model& model, std::span<const PackRecord> packs, std::string ports) {
  uint64_t bytes = 0;
  for (const PackRecord& p : packs) bytes += p.packed.bytes();
  if (bytes > folder_.max_bytes) {
    TRN_LOG(folder_.logger, warning,
            "model cache: not written, {} bytes of packed operands are more than the limit of {}", bytes,
            folder_.max_bytes);
    return;
  }
  drop_lists(*model.graph, packs);
  if (const size_t lists = attribute_bytes(*model.graph); lists > kMostLists && lists > bytes) {
    TRN_LOG(folder_.logger, info, "model cache: not written, attributes have {} bytes, packed operands {}", lists,
            bytes);
    return;
  }
  bytes = 0;
  if (const Status s = write(model, packs, std::move(ports), bytes); !s.ok()) {
    TRN_LOG(folder_.logger, warning, "model cache: not written: {}", s.message());
    return;
  }
  TRN_LOG(folder_.logger, info, "model cache: written, {} ({} bytes of packed operands)", path(), bytes);
  folder_.trim(name());
}

}  // namespace trunnion::session
