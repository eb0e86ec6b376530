#include "onnx/writer.h"

#include <gtest/gtest.h>

#include "onnx/external_data.h"
#include "onnx/reader.h"
#include "onnx/tensor_data.h"
#include "onnx/test_model.h"

namespace trunnion::onnx {
namespace {

TEST(Writer, RefusesMoreThanProtobufAllows) {
  // The bytes are never touched: only their number counts here.
  ModelView m;
  m.graph.initializers.push_back(raw_tensor("w", 2, {int64_t{3} << 30}, ""));
  static const std::byte one{};
  m.graph.initializers[0].raw_data = {&one, size_t{3} << 30};
  EXPECT_GT(serialized_bytes(m), uint64_t{3} << 30);
  const auto r = serialize(m);
  EXPECT_EQ(r.status().code(), Code::invalid_argument);
  EXPECT_NE(r.status().message().find("external data"), std::string::npos);
}

TEST(Writer, MovesWeightsToAnExternalFile) {
  const std::string a(5000, 'a'), b(100, 'b'), small(10, 's');
  ModelView m;
  m.graph.initializers = {raw_tensor("a", 2, {5000}, a), raw_tensor("small", 2, {10}, small)};
  m.graph.nodes.emplace_back();
  m.graph.nodes[0].op_type = "If";
  AttrView body = attribute("then_branch", AttrType::g);
  body.graphs.emplace_back();
  body.graphs[0].initializers = {raw_tensor("b", 2, {100}, b)};
  m.graph.nodes[0].attributes.push_back(body);

  ExternalFile file("weights.bin");
  file.take(m.graph, 100);
  EXPECT_EQ(file.pieces().size(), 2u);
  EXPECT_EQ(file.pieces()[1].offset, 8192u);
  EXPECT_EQ(file.size(), 8292u);
  const auto bytes = serialize(m);
  ASSERT_TRUE(bytes.ok());
  EXPECT_LT(bytes->size(), 400u);

  const auto back = parse(*bytes, "");
  ASSERT_TRUE(back.ok()) << back.status().message();
  const auto content = file.content();
  ASSERT_EQ(content.size(), 8292u);
  EXPECT_EQ(content[6000], std::byte{0});
  ExternalData external("");
  external.add_memory_file("weights.bin", content, nullptr);
  const auto first = decode_tensor(back->graph.initializers[0], {nullptr, &external});
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(first->data<char>()[4999], 'a');
  const auto second = decode_tensor(back->graph.nodes[0].attributes[0].graphs[0].initializers[0], {nullptr, &external});
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(second->data<char>()[0], 'b');
  EXPECT_TRUE(back->graph.initializers[1].has_raw_data);
}

}  // namespace
}  // namespace trunnion::onnx
