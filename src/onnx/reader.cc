#include "onnx/reader.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/utf8.h"
#include "onnx/file_guess.h"
#include "onnx/flat.h"
#include "onnx/ort_format.h"

namespace trunnion::onnx {
namespace {

std::string file_text(std::string_view path) {
  return path.empty() ? "the model in memory" : fmt::format("'{}'", path);
}

// Decodes one file. A method per message: it fills `out`, adding to what is there, as protobuf does when a message
// comes in several parts.
class Decoder {
 public:
  Decoder(Bytes file, std::string_view path) : file_(file), path_(path) {}

  Status model(Bytes bytes, ModelView& out) {
    bool has_graph = false;
    TRN_TRY(fields(bytes, "ModelProto", [&](const WireField& f) -> Status {
      switch (f.number) {
        case 1:
          return integer(f, out.ir_version);
        case 2:
          return text(f, out.producer_name);
        case 3:
          return text(f, out.producer_version);
        case 4:
          return text(f, out.domain);
        case 5:
          out.has_model_version = true;
          return integer(f, out.model_version);
        case 6:
          return free_text(f, out.doc_string);
        case 7:
          has_graph = true;
          return message(f, out.graph, &Decoder::graph);
        case 8:
          return append(f, out.opset_imports, &Decoder::opset);
        case 14:
          return append(f, out.metadata_props, &Decoder::entry);
        case 20:
          return append_bytes(f, out.training_infos);
        case 25:
          return append(f, out.functions, &Decoder::function);
      }
      return {};
    }));
    if (!has_graph) {
      const std::string_view guess = guess_content(file_);
      return error(Code::invalid_graph, "Failed to load model because it has no graph: {} ({} bytes){}{}",
                   file_text(path_), file_.size(), guess.empty() ? "" : " looks like ", guess);
    }
    return {};
  }

  Status tensor(Bytes bytes, TensorProtoView& out) {
    return fields(bytes, "TensorProto", [&](const WireField& f) -> Status {
      switch (f.number) {
        case 1:
          return integers(f, out.dims);
        case 2:
          return integer(f, out.data_type);
        case 3:
          out.has_segment = true;
          return {};
        case 4:
          return packed(f, WireType::fixed32, DataField::float_data, out);
        case 5:
          return packed(f, WireType::varint, DataField::int32_data, out);
        case 6:
          return append_octets(f, out.string_data);
        case 7:
          return packed(f, WireType::varint, DataField::int64_data, out);
        case 8:
          return text(f, out.name);
        case 9:
          out.has_raw_data = true;
          out.raw_data = f.bytes;
          return wire(f, WireType::length);
        case 10:
          return packed(f, WireType::fixed64, DataField::double_data, out);
        case 11:
          return packed(f, WireType::varint, DataField::uint64_data, out);
        case 12:
          return free_text(f, out.doc_string);
        case 13:
          return append(f, out.external_data, &Decoder::entry);
        case 14: {
          int64_t location = 0;
          TRN_TRY(integer(f, location));
          if (location != 0 && location != 1) return fail("data_location {} is neither DEFAULT nor EXTERNAL", location);
          out.external = location == 1;
          return {};
        }
        case 16:
          return append(f, out.metadata_props, &Decoder::entry);
      }
      return {};
    });
  }

 private:
  // Offset of the field being decoded.
  size_t offset() const { return at_ ? static_cast<size_t>(at_ - file_.data()) : 0; }

  template <class... Args>
  Status fail(fmt::format_string<Args...> format, Args&&... args) const {
    std::string what = fmt::vformat(format, fmt::make_format_args(args...));
    const std::string_view guess = guess_content(file_);
    return error(Code::invalid_protobuf,
                 "Failed to load model because protobuf parsing failed: {}, byte {} of {}: {}{}{}", file_text(path_),
                 offset(), file_.size(), what, guess.empty() ? "" : "; the content looks like ", guess);
  }

  // Calls fn for each field of a message.
  template <class Fn>
  Status fields(Bytes bytes, const char* name, Fn fn) {
    return fields_of(bytes, name, [&](const WireField& f, WireReader&) { return fn(f); });
  }
  // The same; fn also gets the reader, to take what follows by itself.
  template <class Fn>
  Status fields_of(Bytes bytes, const char* name, Fn fn) {
    if (depth_ == kMaxNesting) return fail("messages are nested more than {} deep (recursion limit)", kMaxNesting);
    ++depth_;
    WireReader reader(bytes);
    WireField field;
    while (reader.next(field)) {
      at_ = reader.position();
      message_ = name;
      TRN_TRY(fn(field, reader));
    }
    at_ = reader.position();
    if (!reader.error().empty()) return fail("{}: {}", name, reader.error());
    --depth_;
    return {};
  }

  Status wire(const WireField& f, WireType wanted) const {
    if (f.type == wanted) return {};
    return fail("field {} of {} should be {}, found {}", f.number, message_, wire_type_text(wanted),
                wire_type_text(f.type));
  }

  template <class T>
  Status integer(const WireField& f, T& out) const {
    TRN_TRY(wire(f, WireType::varint));
    out = static_cast<T>(f.value);
    return {};
  }
  Status integers(const WireField& f, std::vector<int64_t>& out) const {
    if (f.type == WireType::varint) {
      out.push_back(static_cast<int64_t>(f.value));
      return {};
    }
    TRN_TRY(wire(f, WireType::length));
    const std::byte* at = f.bytes.data();
    const std::byte* end = at + f.bytes.size();
    while (at != end) {
      uint64_t value;
      if (!read_varint(at, end, value))
        return fail("field {} of {}: the packed list ends inside a varint", f.number, message_);
      out.push_back(static_cast<int64_t>(value));
    }
    return {};
  }
  Status real(const WireField& f, float& out) const {
    TRN_TRY(wire(f, WireType::fixed32));
    out = std::bit_cast<float>(static_cast<uint32_t>(f.value));
    return {};
  }
  Status reals(const WireField& f, std::vector<float>& out) const {
    if (f.type == WireType::length) {
      if (f.bytes.size() % 4)
        return fail("field {} of {}: {} bytes are no list of floats", f.number, message_, f.bytes.size());
      const size_t old = out.size();
      out.resize(old + f.bytes.size() / 4);
      if (!f.bytes.empty()) std::memcpy(out.data() + old, f.bytes.data(), f.bytes.size());
      return {};
    }
    out.emplace_back();
    return real(f, out.back());
  }

  // bytes fields: any content.
  Status octets(const WireField& f, std::string_view& out) const {
    TRN_TRY(wire(f, WireType::length));
    out = {reinterpret_cast<const char*>(f.bytes.data()), f.bytes.size()};
    return {};
  }
  Status free_text(const WireField& f, std::string_view& out) const { return octets(f, out); }
  Status text(const WireField& f, std::string_view& out) const {
    TRN_TRY(octets(f, out));
    if (const size_t wrong = utf8_error_offset(out); wrong != std::string_view::npos)
      return fail("field {} of {} is not valid UTF-8 (byte {} of the string)", f.number, message_, wrong);
    return {};
  }
  Status append_octets(const WireField& f, std::vector<std::string_view>& out) const {
    out.emplace_back();
    return octets(f, out.back());
  }
  Status append_text(const WireField& f, std::vector<std::string_view>& out) const {
    out.emplace_back();
    return text(f, out.back());
  }
  Status append_bytes(const WireField& f, std::vector<Bytes>& out) const {
    out.push_back(f.bytes);
    return wire(f, WireType::length);
  }

  // Typed tensor data, packed or one by one.
  Status packed(const WireField& f, WireType element, DataField field, TensorProtoView& out) const {
    if (f.type != element) TRN_TRY(wire(f, WireType::length));
    if (f.bytes.empty()) return {};
    if (f.type == WireType::length && element != WireType::varint) {
      const size_t size = element == WireType::fixed32 ? 4 : 8;
      if (f.bytes.size() % size)
        return fail("field {} of {}: {} bytes are no list of {}-byte elements", f.number, message_, f.bytes.size(),
                    size);
    }
    if (f.type == WireType::length && element == WireType::varint) TRN_TRY(check_varints(f));
    if (out.data_field != DataField::none && out.data_field != field)
      return fail("a tensor has data in two fields ({} and {} of TensorProto)", static_cast<int>(out.data_field),
                  f.number);
    out.data_field = field;
    out.data.append(f.bytes);
    return {};
  }
  Status check_varints(const WireField& f) const {
    int length = 0;
    for (const std::byte b : f.bytes) {
      length = static_cast<uint8_t>(b) < 0x80 ? 0 : length + 1;
      if (length >= 10) return fail("field {} of {}: an element has more than 64 bits", f.number, message_);
    }
    if (length) return fail("field {} of {}: the packed list ends inside a varint", f.number, message_);
    return {};
  }

  template <class T>
  Status message(const WireField& f, T& out, Status (Decoder::*decode)(Bytes, T&)) {
    TRN_TRY(wire(f, WireType::length));
    return (this->*decode)(f.bytes, out);
  }
  template <class T>
  Status append(const WireField& f, std::vector<T>& out, Status (Decoder::*decode)(Bytes, T&)) {
    TRN_TRY(wire(f, WireType::length));
    out.emplace_back();
    return (this->*decode)(f.bytes, out.back());
  }
  // The only element of a vector of at most one.
  template <class T>
  Status single(const WireField& f, std::vector<T>& out, Status (Decoder::*decode)(Bytes, T&)) {
    if (out.empty()) out.emplace_back();
    return message(f, out.front(), decode);
  }

  Status entry(Bytes bytes, StringEntry& out) {
    return fields(bytes, "StringStringEntryProto", [&](const WireField& f) -> Status {
      if (f.number == 1) return text(f, out.key);
      if (f.number == 2) return text(f, out.value);
      return {};
    });
  }

  Status opset(Bytes bytes, OpsetView& out) {
    return fields(bytes, "OperatorSetIdProto", [&](const WireField& f) -> Status {
      if (f.number == 1) return text(f, out.domain);
      if (f.number == 2) return integer(f, out.version);
      return {};
    });
  }

  Status graph(Bytes bytes, GraphView& out) {
    return fields(bytes, "GraphProto", [&](const WireField& f) -> Status {
      switch (f.number) {
        case 1:
          return append(f, out.nodes, &Decoder::node);
        case 2:
          return text(f, out.name);
        case 5:
          return append(f, out.initializers, &Decoder::tensor);
        case 10:
          return free_text(f, out.doc_string);
        case 11:
          return append(f, out.inputs, &Decoder::value_info);
        case 12:
          return append(f, out.outputs, &Decoder::value_info);
        case 13:
          return append(f, out.value_infos, &Decoder::value_info);
        case 14:
          return append(f, out.quantization_annotations, &Decoder::annotation);
        case 15:
          return append(f, out.sparse_initializers, &Decoder::sparse_tensor);
        case 16:
          return append(f, out.metadata_props, &Decoder::entry);
      }
      return {};
    });
  }

  Status node(Bytes bytes, NodeView& out) {
    return fields(bytes, "NodeProto", [&](const WireField& f) -> Status {
      switch (f.number) {
        case 1:
          return append_text(f, out.inputs);
        case 2:
          return append_text(f, out.outputs);
        case 3:
          return text(f, out.name);
        case 4:
          return text(f, out.op_type);
        case 5:
          return append(f, out.attributes, &Decoder::attribute);
        case 6:
          return free_text(f, out.doc_string);
        case 7:
          return text(f, out.domain);
        case 8:
          return text(f, out.overload);
        case 9:
          return append(f, out.metadata_props, &Decoder::entry);
      }
      return {};
    });
  }

  Status attribute(Bytes bytes, AttrView& out) {
    const std::byte* begin = at_;
    AttrType held = AttrType::undefined;  // what the value field that is used holds
    bool two = false;
    const auto holds = [&](AttrType type) {
      two = two || (held != AttrType::undefined && held != type);
      held = type;
    };
    TRN_TRY(fields_of(bytes, "AttributeProto", [&](const WireField& f, WireReader& reader) -> Status {
      switch (f.number) {
        case 1:
          return text(f, out.name);
        case 2:
          holds(AttrType::f);
          return real(f, out.f);
        case 3:
          holds(AttrType::i);
          return integer(f, out.i);
        case 4:
          holds(AttrType::s);
          return octets(f, out.s);
        case 5:
          holds(AttrType::t);
          return single(f, out.tensors, &Decoder::tensor);
        case 6:
          holds(AttrType::g);
          return single(f, out.graphs, &Decoder::graph);
        case 7:
          holds(AttrType::floats);
          TRN_TRY(reals(f, out.floats));
          reader.take_floats(7, out.floats);
          return {};
        case 8:
          holds(AttrType::ints);
          TRN_TRY(integers(f, out.ints));
          reader.take_varints(8, out.ints);
          return {};
        case 9:
          holds(AttrType::strings);
          TRN_TRY(append_octets(f, out.strings));
          reader.take_texts(9, out.strings);
          return {};
        case 10:
          holds(AttrType::tensors);
          return append(f, out.tensors, &Decoder::tensor);
        case 11:
          holds(AttrType::graphs);
          return append(f, out.graphs, &Decoder::graph);
        case 13:
          return free_text(f, out.doc_string);
        case 14:
          holds(AttrType::tp);
          return single(f, out.types, &Decoder::type);
        case 15:
          holds(AttrType::type_protos);
          return append(f, out.types, &Decoder::type);
        case 20: {
          int64_t type = 0;
          TRN_TRY(integer(f, type));
          if (type < 0 || type >= schema::kAttrTypeCount) return fail("{} is no attribute type", type);
          out.type = static_cast<AttrType>(type);
          return {};
        }
        case 21:
          return text(f, out.ref_attr_name);
        case 22:
          holds(AttrType::sparse_tensor);
          return single(f, out.sparse_tensors, &Decoder::sparse_tensor);
        case 23:
          holds(AttrType::sparse_tensors);
          return append(f, out.sparse_tensors, &Decoder::sparse_tensor);
      }
      return {};
    }));
    at_ = begin;
    return check_attribute(out, held, two);
  }

  // One value of the declared type. A number, string or list that is missing is its default: proto3 writers leave those
  // out.
  Status check_attribute(AttrView& a, AttrType held, bool two) const {
    if (two) return fail("attribute '{}' has values of two types", a.name);
    if (a.type == AttrType::undefined) a.type = held;  // models of IR version 1 do not say
    if (held != AttrType::undefined && held != a.type)
      return fail("attribute '{}' has type {} but a value of type {}", a.name, attr_type_name(a.type),
                  attr_type_name(held));
    if (!a.ref_attr_name.empty()) {
      if (held != AttrType::undefined)
        return fail("attribute '{}' has a value and refers to '{}'", a.name, a.ref_attr_name);
      return {};
    }
    const bool must_hold = a.type == AttrType::t || a.type == AttrType::g || a.type == AttrType::tp ||
                           a.type == AttrType::sparse_tensor || a.type == AttrType::undefined;
    if (must_hold && held == AttrType::undefined)
      return fail("attribute '{}' of type {} has no value", a.name, attr_type_name(a.type));
    return {};
  }

  Status sparse_tensor(Bytes bytes, SparseTensorView& out) {
    return fields(bytes, "SparseTensorProto", [&](const WireField& f) -> Status {
      if (f.number == 1) return message(f, out.values, &Decoder::tensor);
      if (f.number == 2) return message(f, out.indices, &Decoder::tensor);
      if (f.number == 3) return integers(f, out.dims);
      return {};
    });
  }

  Status value_info(Bytes bytes, ValueInfoView& out) {
    return fields(bytes, "ValueInfoProto", [&](const WireField& f) -> Status {
      switch (f.number) {
        case 1:
          return text(f, out.name);
        case 2:
          return message(f, out.type, &Decoder::type);
        case 3:
          return free_text(f, out.doc_string);
        case 4:
          return append(f, out.metadata_props, &Decoder::entry);
      }
      return {};
    });
  }

  Status annotation(Bytes bytes, AnnotationView& out) {
    return fields(bytes, "TensorAnnotation", [&](const WireField& f) -> Status {
      if (f.number == 1) return text(f, out.tensor_name);
      if (f.number == 2) return append(f, out.quant_parameter_tensor_names, &Decoder::entry);
      return {};
    });
  }

  Status type(Bytes bytes, TypeView& out) {
    using Kind = TypeView::Kind;
    const auto as = [&](const WireField& f, Kind kind, Status (Decoder::*decode)(Bytes, TypeView&)) -> Status {
      if (out.kind != kind) {  // the last member of the oneof counts
        const std::string_view denotation = out.denotation;
        out = {};
        out.kind = kind;
        out.denotation = denotation;
      }
      return message(f, out, decode);
    };
    return fields(bytes, "TypeProto", [&](const WireField& f) -> Status {
      switch (f.number) {
        case 1:
          return as(f, Kind::tensor, &Decoder::tensor_type);
        case 4:
          return as(f, Kind::sequence, &Decoder::wrapped_type);
        case 5:
          return as(f, Kind::map, &Decoder::map_type);
        case 6:
          return text(f, out.denotation);
        case 7:
          return as(f, Kind::opaque, &Decoder::opaque_type);
        case 8:
          return as(f, Kind::sparse_tensor, &Decoder::tensor_type);
        case 9:
          return as(f, Kind::optional, &Decoder::wrapped_type);
      }
      return {};
    });
  }

  Status tensor_type(Bytes bytes, TypeView& out) {
    return fields(bytes, "TypeProto.Tensor", [&](const WireField& f) -> Status {
      if (f.number == 1) return integer(f, out.elem_type);
      if (f.number != 2) return {};
      out.has_shape = true;
      return message(f, out, &Decoder::shape);
    });
  }
  Status shape(Bytes bytes, TypeView& out) {
    return fields(bytes, "TensorShapeProto", [&](const WireField& f) -> Status {
      return f.number == 1 ? append(f, out.dims, &Decoder::dim) : Status{};
    });
  }
  Status dim(Bytes bytes, DimView& out) {
    return fields(bytes, "TensorShapeProto.Dimension", [&](const WireField& f) -> Status {
      switch (f.number) {
        case 1:
          out.kind = DimView::Kind::value;
          return integer(f, out.value);
        case 2:
          out.kind = DimView::Kind::param;
          return text(f, out.param);
        case 3:
          return text(f, out.denotation);
      }
      return {};
    });
  }
  Status wrapped_type(Bytes bytes, TypeView& out) {
    return fields(bytes, "TypeProto.Sequence or TypeProto.Optional", [&](const WireField& f) -> Status {
      return f.number == 1 ? single(f, out.inner, &Decoder::type) : Status{};
    });
  }
  Status map_type(Bytes bytes, TypeView& out) {
    return fields(bytes, "TypeProto.Map", [&](const WireField& f) -> Status {
      if (f.number == 1) return integer(f, out.elem_type);
      return f.number == 2 ? single(f, out.inner, &Decoder::type) : Status{};
    });
  }
  Status opaque_type(Bytes bytes, TypeView& out) {
    return fields(bytes, "TypeProto.Opaque", [&](const WireField& f) -> Status {
      if (f.number == 1) return text(f, out.opaque_domain);
      return f.number == 2 ? text(f, out.opaque_name) : Status{};
    });
  }

  Status function(Bytes bytes, FunctionView& out) {
    return fields(bytes, "FunctionProto", [&](const WireField& f) -> Status {
      switch (f.number) {
        case 1:
          return text(f, out.name);
        case 4:
          return append_text(f, out.inputs);
        case 5:
          return append_text(f, out.outputs);
        case 6:
          return append_text(f, out.attributes);
        case 7:
          return append(f, out.nodes, &Decoder::node);
        case 8:
          return free_text(f, out.doc_string);
        case 9:
          return append(f, out.opset_imports, &Decoder::opset);
        case 10:
          return text(f, out.domain);
        case 11:
          return append(f, out.attribute_protos, &Decoder::attribute);
        case 12:
          return append(f, out.value_infos, &Decoder::value_info);
        case 13:
          return text(f, out.overload);
        case 14:
          return append(f, out.metadata_props, &Decoder::entry);
      }
      return {};
    });
  }

  Bytes file_;
  std::string_view path_;
  const std::byte* at_ = nullptr;  // the field being decoded, for messages
  const char* message_ = "";       // the message it belongs to
  int depth_ = 0;
};

}  // namespace

Result<ModelView> parse(Bytes bytes, std::string_view path) {
  if (bytes.empty())
    return error(Code::invalid_protobuf, "Failed to load model because protobuf parsing failed: {} is empty (0 bytes)",
                 file_text(path));
  if (Flat::has_mark(bytes, kOrtMark)) return parse_ort_format(bytes, path);
  ModelView view;
  Decoder decoder(bytes, path);
  TRN_TRY(decoder.model(bytes, view));
  return view;
}

std::vector<Bytes> large_weights(Bytes bytes, size_t least) {
  std::vector<Bytes> found;
  const auto look = [&](Bytes data) {
    if (data.size() >= least && data.data() >= bytes.data() && data.data() + data.size() <= bytes.data() + bytes.size())
      found.push_back(data);
  };
  if (Flat::has_mark(bytes, kOrtMark)) {
    if (const auto view = parse_ort_format(bytes, {}); view.ok())
      for (const auto& t : view->graph.initializers) look(t.raw_data);
    std::sort(found.begin(), found.end(), [](Bytes a, Bytes b) { return a.data() < b.data(); });
    return found;
  }
  constexpr uint32_t kGraph = 7, kInitializer = 5, kRawData = 9;  // in their messages
  const auto each = [](Bytes message, uint32_t number, auto&& fn) {
    WireReader reader(message);
    for (WireField f; reader.next(f);)
      if (f.number == number && f.type == WireType::length) fn(f.bytes);
  };
  each(bytes, kGraph, [&](Bytes graph) {
    each(graph, kInitializer, [&](Bytes tensor) {
      if (tensor.size() >= least) each(tensor, kRawData, look);
    });
  });
  return found;
}

Result<TensorProtoView> parse_tensor(Bytes bytes, std::string_view path) {
  TensorProtoView view;
  Decoder decoder(bytes, path);
  TRN_TRY(decoder.tensor(bytes, view));
  return view;
}

}  // namespace trunnion::onnx
