#include "session/ports.h"

#include "session/cache_file.h"

namespace trunnion::session {
namespace {

enum class DimKind : uint8_t { unknown, number, symbol };
constexpr int kDeepest = 64;  // types in types

void put(IndexWriter& out, const std::optional<SymShape>& shape) {
  out.put(static_cast<uint64_t>(shape ? shape->size() + 1 : 0));
  for (size_t i = 0; shape && i < shape->size(); ++i) {
    const Dim& d = (*shape)[i];
    const auto symbol = d.symbol_name();
    out.put(d.is_int() ? DimKind::number : symbol ? DimKind::symbol : DimKind::unknown);
    if (d.is_int()) out.put(d.value());
    if (!d.is_int() && symbol) out.text(*symbol);
  }
}

void put(IndexWriter& out, const Type& t) {
  out.put(t.kind);
  out.put(static_cast<int32_t>(t.dtype));
  out.text(t.denotation);
  put(out, t.shape);
  out.put(static_cast<uint8_t>(t.inner ? 1 : 0));
  if (t.inner) put(out, *t.inner);
}

void put(IndexWriter& out, const std::vector<Port>& ports) {
  out.put(static_cast<uint64_t>(ports.size()));
  for (const Port& p : ports) out.text(p.name), put(out, p.type);
}

bool get(IndexReader& in, std::optional<SymShape>& shape) {
  const size_t more = in.length(1);
  if (more == 0) return in.ok();
  shape.emplace();
  for (size_t i = 1; i < more && in.ok(); ++i) {
    auto kind = DimKind::unknown;
    in.get(kind);
    if (kind > DimKind::symbol) return false;
    int64_t number = 0;
    if (kind == DimKind::number) in.get(number);
    shape->push_back(kind == DimKind::number ? Dim(number) : kind == DimKind::symbol ? Dim::symbol(in.text()) : Dim());
  }
  return in.ok();
}

bool get(IndexReader& in, Type& t, int depth = 0) {
  int32_t dtype = 0;
  uint8_t inner = 0;
  in.get(t.kind);
  in.get(dtype);
  t.denotation = in.text();
  if (!get(in, t.shape)) return false;
  in.get(inner);
  const auto known = dtype_from_code(dtype);
  if (!in.ok() || t.kind > Type::Kind::opaque || (dtype != 0 && !known) || depth > kDeepest) return false;
  t.dtype = known.value_or(DType::undefined);
  if (!inner) return true;
  Type of;
  if (!get(in, of, depth + 1)) return false;
  t.inner = std::make_shared<const Type>(std::move(of));
  return true;
}

bool get(IndexReader& in, std::vector<Port>& ports) {
  const size_t n = in.length(1);
  for (size_t i = 0; i < n; ++i) {
    Port& p = ports.emplace_back();
    p.name = in.text();
    if (!get(in, p.type)) return false;
  }
  return in.ok();
}

}  // namespace

std::string ports_bytes(const Ports& ports) {
  IndexWriter out;
  put(out, ports.inputs);
  put(out, ports.outputs);
  out.put(static_cast<uint64_t>(ports.declared.size()));
  for (const auto& shape : ports.declared) put(out, shape);
  return {reinterpret_cast<const char*>(out.bytes().data()), out.bytes().size()};
}

std::optional<Ports> read_ports(std::string_view bytes) {
  IndexReader in(std::as_bytes(std::span(bytes.data(), bytes.size())));
  Ports out;
  if (!get(in, out.inputs) || !get(in, out.outputs)) return std::nullopt;
  out.declared.resize(in.length(1));
  for (auto& shape : out.declared)
    if (!get(in, shape)) return std::nullopt;
  if (!in.done() || (!out.declared.empty() && out.declared.size() != out.outputs.size())) return std::nullopt;
  return out;
}

}  // namespace trunnion::session
