#include "onnx/reader.h"

#include <gtest/gtest.h>

#include "onnx/tensor_data.h"
#include "onnx/test_model.h"
#include "onnx/wire_writer.h"
#include "onnx/writer.h"

namespace trunnion::onnx {
namespace {

using Buffer = std::vector<std::byte>;

template <class Fn>
Buffer build(const Fn& fn) {
  Buffer out;
  WireWriter w(out);
  fn(w);
  return out;
}

// A model whose graph has one node with one attribute, whose fields fn writes.
template <class Fn>
Buffer with_attribute(const Fn& fn) {
  return build([&](WireWriter& m) {
    m.message(7, [&](WireWriter& g) { g.message(1, [&](WireWriter& n) { n.message(5, fn); }); });
  });
}
template <class Fn>
Buffer with_tensor(const Fn& fn) {
  return build([&](WireWriter& m) { m.message(7, [&](WireWriter& g) { g.message(5, fn); }); });
}

std::string message_of(const Buffer& bytes, std::string_view path = "dir/m.onnx") {
  return parse(bytes, path).status().message();
}
std::string message_of(std::string_view bytes) { return parse(as_bytes(bytes), "dir/m.onnx").status().message(); }

TEST(Reader, ReadsEveryField) {
  const Buffer bytes = *serialize(sample_model());
  const auto r = parse(bytes, "m.onnx");
  ASSERT_TRUE(r.ok()) << r.status().message();
  const ModelView& m = *r;
  EXPECT_EQ(m.ir_version, 10);
  EXPECT_EQ(m.producer_name, "producer");
  EXPECT_EQ(m.producer_version, "1.2");
  EXPECT_EQ(m.domain, "com.example");
  EXPECT_TRUE(m.has_model_version);
  EXPECT_EQ(m.model_version, 7);
  EXPECT_EQ(m.doc_string, "doc");
  ASSERT_EQ(m.opset_imports.size(), 2u);
  EXPECT_EQ(m.opset_imports[0].version, 17);
  EXPECT_EQ(m.opset_imports[1].domain, "com.example");
  EXPECT_EQ(m.metadata_props.at(0).value, "J\xc3\xb8rn");

  const GraphView& g = m.graph;
  EXPECT_EQ(g.name, "main");
  ASSERT_EQ(g.inputs.size(), 2u);
  const TypeView& x = g.inputs[0].type;
  EXPECT_EQ(x.kind, TypeView::Kind::tensor);
  EXPECT_EQ(x.elem_type, 1);
  ASSERT_EQ(x.dims.size(), 3u);
  EXPECT_EQ(x.dims[0].param, "N");
  EXPECT_EQ(x.dims[0].denotation, "DATA_BATCH");
  EXPECT_EQ(x.dims[1].value, 2);
  EXPECT_EQ(x.dims[2].kind, DimView::Kind::none);
  EXPECT_EQ(g.inputs[0].metadata_props.at(0).key, "k");
  const TypeView& seq = g.inputs[1].type;
  EXPECT_EQ(seq.kind, TypeView::Kind::optional);
  EXPECT_EQ(seq.inner.at(0).kind, TypeView::Kind::sequence);
  EXPECT_EQ(seq.inner.at(0).inner.at(0).elem_type, 1);
  EXPECT_EQ(g.outputs.at(0).type.kind, TypeView::Kind::map);
  EXPECT_EQ(g.outputs[0].type.elem_type, 8);
  EXPECT_EQ(g.value_infos.at(0).type.denotation, "IMAGE");
  EXPECT_EQ(g.value_infos[1].type.opaque_name, "n");
  EXPECT_EQ(g.value_infos[2].type.kind, TypeView::Kind::none);

  ASSERT_EQ(g.initializers.size(), 5u);
  EXPECT_TRUE(g.initializers[0].has_raw_data);
  EXPECT_EQ(g.initializers[0].raw_data.size(), 8u);
  EXPECT_EQ(g.initializers[1].string_data, (std::vector<std::string_view>{"cat", "\xff"}));
  EXPECT_TRUE(g.initializers[2].external);
  EXPECT_EQ(g.initializers[2].external_data.at(1).value, "4096");
  EXPECT_EQ(g.initializers[3].data_field, DataField::int64_data);
  EXPECT_EQ(g.initializers[3].data.varint_count(), 2u);
  EXPECT_EQ(g.initializers[4].data_field, DataField::uint64_data);
  EXPECT_EQ(g.sparse_initializers.at(0).values.name, "sparse");
  EXPECT_EQ(g.sparse_initializers[0].dims, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(g.quantization_annotations.at(0).quant_parameter_tensor_names.at(0).key, "SCALE_TENSOR");

  const NodeView& n = g.nodes.at(0);
  EXPECT_EQ(n.name, "node1");
  EXPECT_EQ(n.overload, "v2");
  EXPECT_EQ(n.doc_string, "node doc \xff");
  EXPECT_EQ(n.inputs, (std::vector<std::string_view>{"x", "", "w"}));
  EXPECT_EQ(n.outputs.size(), 2u);
  ASSERT_EQ(n.attributes.size(), 15u);
  EXPECT_EQ(n.attributes[0].f, 0.5f);
  EXPECT_EQ(n.attributes[1].i, -3);
  EXPECT_EQ(n.attributes[2].s, "NOTSET");
  EXPECT_EQ(n.attributes[3].tensors.at(0).dims, std::vector<int64_t>{1});
  EXPECT_EQ(n.attributes[4].graphs.at(0).nodes.at(0).op_type, "Identity");
  EXPECT_EQ(n.attributes[5].floats, (std::vector<float>{1.5f, -2.0f}));
  EXPECT_EQ(n.attributes[6].ints, (std::vector<int64_t>{1, -1, int64_t{1} << 40}));
  EXPECT_EQ(n.attributes[7].strings.at(2), "\xff\xfe");
  EXPECT_EQ(n.attributes[8].tensors.size(), 2u);
  EXPECT_EQ(n.attributes[9].graphs.size(), 1u);
  EXPECT_EQ(n.attributes[10].types.at(0).inner.at(0).elem_type, 7);
  EXPECT_EQ(n.attributes[11].types.size(), 2u);
  EXPECT_EQ(n.attributes[12].sparse_tensors.at(0).dims, std::vector<int64_t>{4});
  EXPECT_EQ(n.attributes[14].ref_attr_name, "outer");
  EXPECT_EQ(n.attributes[14].type, AttrType::i);

  const FunctionView& f = m.functions.at(0);
  EXPECT_EQ(f.overload, "o");
  EXPECT_EQ(f.attributes, std::vector<std::string_view>{"outer"});
  EXPECT_EQ(f.attribute_protos.at(0).f, 2.0f);
  EXPECT_EQ(f.nodes.at(0).op_type, "Neg");
  EXPECT_EQ(f.opset_imports.at(0).version, 17);
  EXPECT_EQ(f.value_infos.size(), 1u);
}

TEST(Reader, WritingAgainGivesTheSameBytes) {
  const Buffer bytes = *serialize(sample_model());
  const auto r = parse(bytes, "");
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(serialized_bytes(*r), bytes.size());
  EXPECT_EQ(*serialize(*r), bytes);
}

// Whatever is cut off or flipped: an answer, and no access outside (run under a sanitizer).
TEST(Reader, EveryTruncationGivesAnAnswer) {
  const Buffer bytes = *serialize(sample_model());
  int errors = 0;
  for (size_t n = 0; n < bytes.size(); ++n) {
    const Buffer cut(bytes.begin(),
                     bytes.begin() + static_cast<ptrdiff_t>(n));  // of its own, so that its end is guarded
    errors += !parse(cut, "cut").ok();
  }
  EXPECT_GT(errors, static_cast<int>(bytes.size() * 9 / 10));
}

TEST(Reader, EveryChangedByteGivesAnAnswer) {
  const Buffer bytes = *serialize(sample_model());
  for (size_t n = 0; n < bytes.size(); ++n)
    for (const int change : {0x01, 0x80, 0x7f, 0xff}) {
      Buffer changed = bytes;
      changed[n] ^= static_cast<std::byte>(change);
      const auto r = parse(changed, "changed");
      if (!r.ok()) continue;
      for (const TensorProtoView& tensor : r->graph.initializers) (void)decode_tensor(tensor, {});
      for (const SparseTensorView& sparse : r->graph.sparse_initializers) (void)decode_sparse_tensor(sparse, {});
    }
}

TEST(Reader, SaysWhatWasFoundInstead) {
  EXPECT_EQ(message_of(std::string_view()),
            "Failed to load model because protobuf parsing failed: 'dir/m.onnx' is empty (0 bytes)");
  EXPECT_EQ(parse({}, "").status().code(), Code::invalid_protobuf);
  const std::string html = message_of("<!DOCTYPE html><html>");
  EXPECT_TRUE(html.starts_with(
      "Failed to load model because protobuf parsing failed: 'dir/m.onnx', byte 0 of 21: ModelProto: "))
      << html;
  EXPECT_NE(html.find("HTML"), std::string::npos) << html;
  EXPECT_NE(message_of("version https://git-lfs.github.com/spec/v1\noid sha256:00").find("Git LFS pointer"),
            std::string::npos);
  EXPECT_NE(message_of(std::string_view("\x1c\0\0\0ORTM\0\0\0\0", 12)).find("ORT format"), std::string::npos);
  EXPECT_NE(message_of(std::string_view("PK\x03\x04zzzzzzzz", 12)).find("ZIP"), std::string::npos);
  EXPECT_NE(message_of("{\"a\": 1}").find("JSON"), std::string::npos);
  EXPECT_NE(message_of("hello world, this is text").find("plain text"), std::string::npos);
  EXPECT_NE(message_of(std::string_view("\0\0\0\0\0\0\0\0", 8)).find("zero bytes"), std::string::npos);
}

TEST(Reader, NeedsAGraph) {
  const Buffer bytes = build([](WireWriter& m) { m.integer(1, 8); });
  const auto r = parse(bytes, "a.onnx");
  EXPECT_EQ(r.status().code(), Code::invalid_graph);
  EXPECT_EQ(r.status().message(), "Failed to load model because it has no graph: 'a.onnx' (2 bytes)");
  // An empty graph is a graph.
  EXPECT_TRUE(parse(build([](WireWriter& m) { m.message(7, [](WireWriter&) {}); }), "").ok());
}

TEST(Reader, SkipsUnknownFields) {
  const Buffer bytes = build([](WireWriter& m) {
    m.message(7, [](WireWriter& g) {
      g.integer(900, 1);
      g.text(901, "x");
      g.message(1, [](WireWriter& n) {
        n.text(4, "Relu");
        n.message(10, [](WireWriter& d) { d.text(1, "device"); });  // device configurations
      });
    });
    m.message(26, [](WireWriter& c) { c.text(1, "config"); });
  });
  const auto r = parse(bytes, "");
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(r->graph.nodes.at(0).op_type, "Relu");
}

TEST(Reader, NamesTheFieldOfTheWrongWireType) {
  const Buffer bytes = build([](WireWriter& m) { m.integer(7, 1); });
  EXPECT_NE(message_of(bytes).find("field 7 of ModelProto should be a length-delimited value, found a varint"),
            std::string::npos)
      << message_of(bytes);
}

TEST(Reader, RefusesTextThatIsNotUtf8) {
  const auto node_named = [](std::string_view name) {
    return build([&](WireWriter& m) {
      m.message(7, [&](WireWriter& g) { g.message(1, [&](WireWriter& n) { n.text(1, name); }); });
    });
  };
  EXPECT_TRUE(parse(node_named("h\xc3\xa9"), "").ok());
  const std::string text = message_of(node_named("a\xff\xfe"));
  EXPECT_NE(text.find("field 1 of NodeProto is not valid UTF-8 (byte 1 of the string)"), std::string::npos) << text;
  EXPECT_EQ(parse(node_named("\xff"), "").status().code(), Code::invalid_protobuf);
}

// Nested If-like bodies, built from the inside out.
Buffer nested(int depth) {
  Buffer graph;
  for (int i = 0; i < depth; ++i) {
    const Buffer inner = graph;
    graph = build([&](WireWriter& g) {
      g.message(1, [&](WireWriter& n) {
        n.message(5, [&](WireWriter& a) {
          a.text(1, "b");
          a.bytes(6, inner);
          a.integer(20, 5);
        });
      });
    });
  }
  return build([&](WireWriter& m) { m.bytes(7, graph); });
}

TEST(Reader, RefusesDeepNestingWithoutOverflow) {
  EXPECT_TRUE(parse(nested(20), "").ok());
  const std::string text = message_of(nested(3000));
  EXPECT_NE(text.find("nested more than 100 deep"), std::string::npos) << text;
  // Types nest too.
  Buffer type;
  for (int i = 0; i < 2000; ++i) {
    const Buffer inner = type;
    type = build([&](WireWriter& t) { t.message(4, [&](WireWriter& s) { s.bytes(1, inner); }); });
  }
  const Buffer bytes = build([&](WireWriter& m) {
    m.message(7, [&](WireWriter& g) { g.message(11, [&](WireWriter& v) { v.bytes(2, type); }); });
  });
  EXPECT_NE(message_of(bytes).find("nested"), std::string::npos);
}

TEST(Reader, AcceptsPackedAndUnpackedLists) {
  const auto packed_floats = std::vector<float>{1, 2};
  Buffer bytes = with_attribute([&](WireWriter& a) {
    a.text(1, "x");
    a.bytes(7, std::as_bytes(std::span(packed_floats)));
    a.real(7, 3);
    a.integer(20, 6);
  });
  auto r = parse(bytes, "");
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(r->graph.nodes[0].attributes[0].floats, (std::vector<float>{1, 2, 3}));

  bytes = with_attribute([&](WireWriter& a) {
    a.bytes(8, as_bytes(std::string_view("\x01\xac\x02", 3)));
    a.integer(8, -5);
    a.integer(20, 7);
  });
  r = parse(bytes, "");
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(r->graph.nodes[0].attributes[0].ints, (std::vector<int64_t>{1, 300, -5}));

  bytes = with_tensor([&](WireWriter& t) {
    t.bytes(1, as_bytes(std::string_view("\x02\x03", 2)));
    for (int i = 0; i < 6; ++i) t.real(4, static_cast<float>(i));
  });
  r = parse(bytes, "");
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(r->graph.initializers[0].dims, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(r->graph.initializers[0].data.bytes().size(), 24u);

  EXPECT_FALSE(parse(with_attribute([](WireWriter& a) { a.bytes(7, as_bytes("abc")); }), "").ok());
  EXPECT_FALSE(parse(with_attribute([](WireWriter& a) { a.bytes(8, as_bytes("\x80")); }), "").ok());
  EXPECT_FALSE(parse(with_tensor([](WireWriter& t) { t.bytes(4, as_bytes("abc")); }), "").ok());
  EXPECT_FALSE(parse(with_tensor([](WireWriter& t) { t.bytes(7, as_bytes("\x80")); }), "").ok());
  EXPECT_FALSE(
      parse(with_tensor([](WireWriter& t) { t.bytes(7, as_bytes(std::string(11, '\x80') + "\x01")); }), "").ok());
  EXPECT_FALSE(parse(with_tensor([](WireWriter& t) {
                       t.real(4, 1);
                       t.integer(7, 1);
                     }),
                     "")
                   .ok());
}

TEST(Reader, ChecksAttributes) {
  const auto fails_with = [](const Buffer& bytes, std::string_view part) {
    const std::string text = message_of(bytes);
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  fails_with(with_attribute([](WireWriter& a) {
               a.text(1, "x");
               a.integer(3, 1);
               a.integer(20, 1);
             }),
             "attribute 'x' has type FLOAT but a value of type INT");
  fails_with(with_attribute([](WireWriter& a) {
               a.text(1, "x");
               a.integer(3, 1);
               a.real(2, 1);
             }),
             "attribute 'x' has values of two types");
  fails_with(with_attribute([](WireWriter& a) { a.text(1, "x"), a.integer(20, 4); }),
             "attribute 'x' of type TENSOR has no value");
  fails_with(with_attribute([](WireWriter& a) { a.text(1, "x"); }), "attribute 'x' of type UNDEFINED has no value");
  fails_with(with_attribute([](WireWriter& a) { a.integer(20, 15); }), "15 is no attribute type");
  fails_with(with_attribute([](WireWriter& a) {
               a.text(1, "x");
               a.text(21, "y");
               a.integer(3, 1);
             }),
             "attribute 'x' has a value and refers to 'y'");
  // A zero that was left out, and the type left out by old models.
  auto r = parse(with_attribute([](WireWriter& a) { a.integer(20, 2); }), "");
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(r->graph.nodes[0].attributes[0].i, 0);
  r = parse(with_attribute([](WireWriter& a) { a.integer(8, 4); }), "");
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(r->graph.nodes[0].attributes[0].type, AttrType::ints);
}

TEST(Reader, MergesAGraphThatComesInParts) {
  const Buffer bytes = build([](WireWriter& m) {
    for (int i = 0; i < 2; ++i)
      m.message(7, [](WireWriter& g) { g.message(1, [](WireWriter& n) { n.text(4, "Relu"); }); });
  });
  EXPECT_EQ(parse(bytes, "")->graph.nodes.size(), 2u);
}

TEST(Reader, ParsesATensorFile) {
  const Buffer bytes = serialize_tensor(raw_tensor("x", 1, {1}, "\1\2\3\4"));
  const auto r = parse_tensor(bytes, "input_0.pb");
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->name, "x");
  EXPECT_EQ(r->raw_data.size(), 4u);
  EXPECT_FALSE(parse_tensor(as_bytes("\x0a"), "input_0.pb").ok());
}

}  // namespace
}  // namespace trunnion::onnx
