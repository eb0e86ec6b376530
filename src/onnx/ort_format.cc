#include "onnx/ort_format.h"

#include <unordered_map>

#include "base/utf8.h"
#include "onnx/flat.h"
#include "onnx/reader.h"

namespace trunnion::onnx {
namespace {

// Field numbers are those of the published schema (ort.fbs).
class OrtReader {
 public:
  OrtReader(Bytes bytes, std::string_view what) : flat_(bytes, what), budget_(bytes.size()) {}

  Result<ModelView> model() {
    TRN_ASSIGN(const size_t session, flat_.follow(0));
    TRN_ASSIGN(const std::string_view version, text(session, 0));
    TRN_ASSIGN(const size_t m, flat_.table(session, 1));
    if (!m) return error(Code::invalid_protobuf, "{} (version '{}') holds no model", flat_.what(), version);
    ModelView v;
    TRN_ASSIGN(v.ir_version, flat_.value<int64_t>(m, 0, 0));
    TRN_TRY(each(m, 1, [&](size_t t) -> Status {
      OpsetView opset;
      TRN_ASSIGN(opset.domain, text(t, 0));
      TRN_ASSIGN(opset.version, flat_.value<int64_t>(t, 1, 0));
      v.opset_imports.push_back(opset);
      return {};
    }));
    TRN_ASSIGN(v.producer_name, text(m, 2));
    TRN_ASSIGN(v.producer_version, text(m, 3));
    TRN_ASSIGN(v.domain, text(m, 4));
    TRN_ASSIGN(v.model_version, flat_.value<int64_t>(m, 5, 0));
    v.has_model_version = true;
    TRN_ASSIGN(v.doc_string, flat_.string(m, 6));
    TRN_ASSIGN(const size_t g, flat_.table(m, 7));
    if (!g) return error(Code::invalid_graph, "{} (version '{}') holds no graph", flat_.what(), version);
    TRN_TRY(graph(g, v.graph, 0));
    TRN_ASSIGN(v.graph.doc_string, flat_.string(m, 8));
    TRN_TRY(each(m, 9, [&](size_t t) -> Status {
      StringEntry e;
      TRN_ASSIGN(e.key, text(t, 0));
      TRN_ASSIGN(e.value, text(t, 1));
      v.metadata_props.push_back(e);
      return {};
    }));
    return v;
  }

 private:
  // Offsets may lead to one table many times over: what is read in all is bounded by the size of the file.
  Status spend(size_t n) {
    if (n > budget_)
      return error(Code::invalid_protobuf, "{} repeats itself: its tables are larger than the file", flat_.what());
    budget_ -= n;
    return {};
  }

  Result<std::string_view> text(size_t table, int n) {
    TRN_ASSIGN(const std::string_view s, flat_.string(table, n));
    return checked(s);
  }
  Result<std::string_view> checked(std::string_view s) const {
    if (!is_valid_utf8(s)) return error(Code::invalid_protobuf, "{} has a name that is not UTF-8", flat_.what());
    return s;
  }

  template <class F>
  Status each(size_t table, int n, F&& read) {
    TRN_ASSIGN(const Bytes offsets, flat_.vector(table, n, 4));
    for (size_t i = 0; i < offsets.size() / 4; ++i) {
      TRN_TRY(spend(4));
      TRN_ASSIGN(const size_t t, flat_.table_in(offsets, i));
      TRN_TRY(read(t));
    }
    return {};
  }

  Status texts(size_t table, int n, std::vector<std::string_view>& to, bool names) {
    TRN_ASSIGN(const Bytes offsets, flat_.vector(table, n, 4));
    TRN_TRY(spend(offsets.size()));
    for (size_t i = 0; i < offsets.size() / 4; ++i) {
      TRN_ASSIGN(std::string_view s, flat_.string_in(offsets, i));
      if (names) {
        TRN_ASSIGN(s, checked(s));
      }
      to.push_back(s);
    }
    return {};
  }

  template <class T>
  Status numbers(size_t table, int n, std::vector<T>& to) {
    TRN_ASSIGN(const Bytes bytes, flat_.vector(table, n, sizeof(T)));
    TRN_TRY(spend(bytes.size()));
    to.resize(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
    return {};
  }

  Status tensor(size_t t, TensorProtoView& v) {
    TRN_ASSIGN(v.name, text(t, 0));
    TRN_ASSIGN(v.doc_string, flat_.string(t, 1));
    TRN_TRY(numbers(t, 2, v.dims));
    TRN_ASSIGN(v.data_type, flat_.value<int32_t>(t, 3, 0));
    TRN_ASSIGN(const int64_t external, flat_.value<int64_t>(t, 6, -1));
    if (external >= 0)  // of training checkpoints: models for sessions hold all their weights
      return not_implemented(
          "{}: the elements of tensor '{}' are at byte {} of another file, which the format does not name; only the "
          "checkpoints of ONNX Runtime's training are kept so. Save the model in ONNX format, whose weights may lie in "
          "files beside it",
          flat_.what(), v.name, external);
    constexpr int32_t kString = 8;
    if (v.data_type == kString) return texts(t, 5, v.string_data, false);
    TRN_ASSIGN(v.raw_data, flat_.vector(t, 4, 1));
    v.has_raw_data = true;
    return {};
  }

  Status sparse(size_t t, SparseTensorView& v) {
    TRN_ASSIGN(const size_t values, flat_.table(t, 0));
    TRN_ASSIGN(const size_t indices, flat_.table(t, 1));
    if (!values || !indices)
      return error(Code::invalid_protobuf, "{} has a sparse tensor without values or indices", flat_.what());
    TRN_TRY(tensor(values, v.values));
    TRN_TRY(tensor(indices, v.indices));
    return numbers(t, 2, v.dims);
  }

  Status shape(size_t t, TypeView& v) {
    v.has_shape = true;
    return each(t, 0, [&](size_t d) -> Status {
      DimView dim;
      TRN_ASSIGN(dim.denotation, text(d, 1));
      TRN_ASSIGN(const size_t value, flat_.table(d, 0));
      if (value) {
        TRN_ASSIGN(const auto kind, flat_.value<int8_t>(value, 0, 0));
        TRN_ASSIGN(dim.value, flat_.value<int64_t>(value, 1, 0));
        TRN_ASSIGN(dim.param, text(value, 2));
        dim.kind = kind == 1 ? DimView::Kind::value : kind == 2 ? DimView::Kind::param : DimView::Kind::none;
      }
      v.dims.push_back(dim);
      return {};
    });
  }

  Status type(size_t t, TypeView& v, int depth) {
    if (depth > kMaxNesting) return error(Code::invalid_protobuf, "{} nests types too deeply", flat_.what());
    TRN_TRY(spend(4));
    enum { none, tensor_type, sequence_type, map_type };
    TRN_ASSIGN(v.denotation, text(t, 0));
    TRN_ASSIGN(const auto kind, flat_.value<uint8_t>(t, 1, none));
    TRN_ASSIGN(const size_t value, flat_.table(t, 2));
    if (!value || kind == none) return {};
    if (kind == tensor_type) {
      v.kind = TypeView::Kind::tensor;
      TRN_ASSIGN(v.elem_type, flat_.value<int32_t>(value, 0, 0));
      TRN_ASSIGN(const size_t s, flat_.table(value, 1));
      return s ? shape(s, v) : Status{};
    }
    if (kind != sequence_type && kind != map_type)
      return error(Code::invalid_protobuf, "{} has a type of the unknown kind {}", flat_.what(), kind);
    v.kind = kind == map_type ? TypeView::Kind::map : TypeView::Kind::sequence;
    if (kind == map_type) {
      TRN_ASSIGN(v.elem_type, flat_.value<int32_t>(value, 0, 0));
    }
    TRN_ASSIGN(const size_t inner, flat_.table(value, kind == map_type ? 1 : 0));
    if (!inner) return error(Code::invalid_protobuf, "{} has a sequence or map of nothing", flat_.what());
    return type(inner, v.inner.emplace_back(), depth + 1);
  }

  Status attribute(size_t t, AttrView& v, int depth) {
    TRN_ASSIGN(v.name, text(t, 0));
    TRN_ASSIGN(v.doc_string, flat_.string(t, 1));
    TRN_ASSIGN(const auto kind, flat_.value<int32_t>(t, 2, 0));
    v.type = static_cast<AttrType>(kind);
    const auto one_tensor = [&](size_t table) { return tensor(table, v.tensors.emplace_back()); };
    const auto one_graph = [&](size_t table) { return graph(table, v.graphs.emplace_back(), depth + 1); };
    switch (kind >= 0 && kind < schema::kAttrTypeCount ? v.type : AttrType::undefined) {
      case AttrType::f: {
        TRN_ASSIGN(v.f, flat_.value<float>(t, 3, 0));
        return {};
      }
      case AttrType::i: {
        TRN_ASSIGN(v.i, flat_.value<int64_t>(t, 4, 0));
        return {};
      }
      case AttrType::s: {
        TRN_ASSIGN(v.s, flat_.string(t, 5));
        return {};
      }
      case AttrType::t:
      case AttrType::g: {
        TRN_ASSIGN(const size_t value, flat_.table(t, v.type == AttrType::t ? 6 : 7));
        if (!value) return error(Code::invalid_protobuf, "{}: attribute '{}' has no value", flat_.what(), v.name);
        return v.type == AttrType::t ? one_tensor(value) : one_graph(value);
      }
      case AttrType::floats:
        return numbers(t, 8, v.floats);
      case AttrType::ints:
        return numbers(t, 9, v.ints);
      case AttrType::strings:
        return texts(t, 10, v.strings, false);
      case AttrType::tensors:
        return each(t, 11, one_tensor);
      case AttrType::graphs:
        return each(t, 12, one_graph);
      default:
        return error(Code::invalid_protobuf, "{}: attribute '{}' is of the unknown type {}", flat_.what(), v.name,
                     kind);
    }
  }

  Status node(size_t t, NodeView& v, int depth) {
    TRN_ASSIGN(v.name, text(t, 0));
    TRN_ASSIGN(v.doc_string, flat_.string(t, 1));
    TRN_ASSIGN(v.domain, text(t, 2));
    TRN_ASSIGN(v.op_type, text(t, 5));
    TRN_TRY(texts(t, 8, v.inputs, true));
    TRN_TRY(texts(t, 9, v.outputs, true));
    return each(t, 10, [&](size_t a) { return attribute(a, v.attributes.emplace_back(), depth); });
  }

  Status graph(size_t g, GraphView& v, int depth) {
    if (depth > kMaxNesting) return error(Code::invalid_protobuf, "{} nests graphs too deeply", flat_.what());
    v.name = "graph";
    TRN_TRY(each(g, 0, [&](size_t t) { return tensor(t, v.initializers.emplace_back()); }));
    TRN_TRY(each(g, 7, [&](size_t t) { return sparse(t, v.sparse_initializers.emplace_back()); }));
    std::unordered_map<std::string_view, ValueInfoView> values;
    TRN_TRY(each(g, 1, [&](size_t t) -> Status {
      ValueInfoView value;
      TRN_ASSIGN(value.name, text(t, 0));
      TRN_ASSIGN(value.doc_string, flat_.string(t, 1));
      TRN_ASSIGN(const size_t ty, flat_.table(t, 2));
      if (ty) TRN_TRY(type(ty, value.type, 0));
      values.insert_or_assign(value.name, std::move(value));
      return {};
    }));
    TRN_TRY(each(g, 2, [&](size_t t) { return node(t, v.nodes.emplace_back(), depth); }));
    const auto ports = [&](int n, std::vector<ValueInfoView>& to) -> Status {
      std::vector<std::string_view> names;
      TRN_TRY(texts(g, n, names, true));
      for (const std::string_view name : names) {
        const auto it = values.find(name);
        to.push_back(it == values.end() ? ValueInfoView{name, {}, {}, {}} : it->second);
      }
      return {};
    };
    TRN_TRY(ports(5, v.inputs));
    TRN_TRY(ports(6, v.outputs));
    return {};
  }

  Flat flat_;
  size_t budget_;
};

}  // namespace

Result<ModelView> parse_ort_format(Bytes bytes, std::string_view path) {
  const std::string what = fmt::format("the model in ORT format {}{}{}", path.empty() ? "" : "'",
                                       path.empty() ? std::string_view("in memory") : path, path.empty() ? "" : "'");
  return OrtReader(bytes, what).model();
}

}  // namespace trunnion::onnx
