#include "session/pack_room.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/os.h"
#include "base/os_files.h"
#include "ir/graph.h"
#include "ops/shape.h"

namespace trunnion::session {
namespace {

constexpr size_t kShared = size_t{16} << 10;  // smaller ones are not looked for
constexpr int64_t kThreadBytes = 256 << 10;   // a piece of work

// Of a few elements: differs for most operands that differ, and costs nothing.
Hash128 glance(const Tensor& t) {
  constexpr size_t kLooks = 16, kPiece = 64;
  const std::span all(t.data<const std::byte>(), t.bytes());
  Hash128 h{all.size(), 0};
  for (size_t i = 0; i <= kLooks; ++i) {
    const size_t at = (all.size() - kPiece) / kLooks * i;
    h = hash_combine(h, hash128(all.subspan(at, kPiece)));
  }
  return h;
}

}  // namespace

Hash128 pack_kind(const Tensor& operand, const ops::Packing& how) {
  Hash128 h = hash128(how.layout, static_cast<uint64_t>(operand.dtype()) << 8 | static_cast<uint64_t>(how.dtype));
  h = hash_combine(h, hash128(std::as_bytes(how.numbers)));
  const Shape& dims = operand.shape();
  return hash_combine(h, hash128(std::as_bytes(std::span(dims.data(), dims.size())), static_cast<uint64_t>(how.count)));
}

Hash128 pack_kind(const ir::Node& node, std::string_view layout) {
  return hash_combine(hash128(layout), hash128(node.op_type()));
}

PackRoom::PackRoom(PackStore* store, ThreadPool* pool, int threads, size_t bytes,
                   std::span<const std::shared_ptr<MappedFile>> files)
    : store_(store), pool_(pool), threads_(threads), blocks_(bytes, size_t{32} << 20) {
  if (!store_) return;
  const int64_t now = os::wall_ns();
  for (const auto& file : files) {
    if (file->mode() != OpenMode::map) continue;
    // One that has only just been written could be written once more without its times telling.
    const auto changed = os::changed_ns(file->path());
    if (changed.ok() && os::change_would_show(*changed, now)) files_.push_back({file, *changed});
  }
}

void PackRoom::fill_all(const ops::Packing& how, ops::PackFill fill, const Tensor& source, void* to) {
  const int64_t bytes = static_cast<int64_t>(source.bytes());
  if (!pool_ || threads_ < 2 || bytes < 2 * kThreadBytes || how.units < 2) return fill(source, 0, how.units, to);
  const int64_t pieces = std::min<int64_t>(bytes / kThreadBytes, int64_t{4} * threads_);
  const int64_t grain = std::max<int64_t>(1, how.units / pieces);
  // fill reports nothing, so neither does the loop.
  (void)pool_->parallel_for(
      how.units, grain, [&](int64_t begin, int64_t end) { fill(source, begin, end, to); }, threads_);
}

// Packs once more and compares: sure, and no slower than a first time.
Result<Tensor> PackRoom::shared(const Tensor& source, const ops::Packing& how, ops::PackFill fill,
                                const Hash128& looks) {
  const auto candidates = store_->alike(looks);
  if (candidates.empty()) return Tensor();
  const size_t bytes = *storage_bytes(how.dtype, how.count);
  if (!compare_.valid() || compare_.bytes() < bytes) {
    const int64_t size[] = {static_cast<int64_t>(bytes)};
    TRN_ASSIGN(compare_, Tensor::allocate(DType::u8, size));
  }
  fill_all(how, fill, source, compare_.raw());
  for (const Tensor& t : candidates)
    if (t.dtype() == how.dtype && t.count() == how.count && std::memcmp(t.raw(), compare_.raw(), bytes) == 0) return t;
  return Tensor();
}

Result<Tensor> PackRoom::pack(const Tensor& operand, const ops::Packing& how, ops::PackFill fill) {
  TRN_ASSIGN(Tensor packed, get(operand, how, fill));
  if (recording_) {
    records_.push_back({pack_kind(operand, how), packed, nullptr, {}});
    operands_.insert(operand.raw());
  }
  return packed;
}

Result<Tensor> PackRoom::pack_lists(const ir::Node& node, std::string_view layout,
                                    std::span<const std::string_view> lists, ops::ListFill make) {
  TRN_ASSIGN(Tensor packed, make());
  packed_ += packed.bytes();
  if (recording_) records_.push_back({pack_kind(node, layout), packed, &node, lists});
  return packed;
}

Result<Tensor> PackRoom::get(const Tensor& operand, const ops::Packing& how, ops::PackFill fill) {
  const auto bytes = storage_bytes(how.dtype, how.count);
  if (!operand.raw() || !bytes) return ops::pack_here(operand, how, fill);  // which says what is wrong
  packed_ += *bytes;
  const bool share = store_ && operand.bytes() >= kShared;
  Hash128 origin{}, looks{};
  bool in_file = false;
  if (share) {
    const Hash128 kind = pack_kind(operand, how);
    const auto at = reinterpret_cast<uintptr_t>(operand.raw());
    for (const auto& [file, changed_ns] : files_) {
      const auto begin = reinterpret_cast<uintptr_t>(file->bytes().data());
      if (at < begin || at - begin >= file->size()) continue;
      const os::FileIdentity& id = file->identity();
      const uint64_t parts[] = {
          id.device, id.inode, id.size, static_cast<uint64_t>(id.modified_ns), static_cast<uint64_t>(changed_ns),
          at - begin};
      origin = hash_combine(kind, hash128(std::as_bytes(std::span(parts))));
      in_file = true;
    }
    if (in_file)
      if (Tensor t = store_->from_origin(origin); t.valid()) {
        shared_ += *bytes;
        return t;
      }
    looks = hash_combine(kind, glance(operand));
  }
  TRN_ASSIGN(const Tensor source, ops::pack_source(operand, how));
  if (share) {
    TRN_ASSIGN(Tensor t, shared(source, how, fill, looks));
    if (t.valid()) {
      shared_ += *bytes;
      store_->add(in_file ? &origin : nullptr, looks, t);
      return t;
    }
  }
  const int64_t size[] = {how.count};
  TRN_ASSIGN(Tensor packed, blocks_.allocate(how.dtype, size));
  fill_all(how, fill, source, packed.raw());
  if (share) store_->add(in_file ? &origin : nullptr, looks, packed);
  return packed;
}

}  // namespace trunnion::session
