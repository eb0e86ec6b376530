#include "session/ports.h"

#include <gtest/gtest.h>

namespace trunnion::session {
namespace {

TEST(Ports, BytesAndBack) {
  Ports p;
  const Type image = Type::tensor(DType::f32, SymShape{Dim::symbol("N"), Dim(3), Dim()});
  p.inputs = {{"x", image}, {"", Type::sequence(Type::map(DType::string, Type::tensor(DType::i64, SymShape{})))}};
  p.inputs[0].type.denotation = "IMAGE";
  p.outputs = {{"y", Type::optional_of(Type::tensor(DType::bf16))}, {"z", Type{}}};
  p.declared = {std::nullopt, SymShape{Dim(4)}};
  const std::string bytes = ports_bytes(p);
  const auto back = read_ports(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(ports_bytes(*back), bytes);
  ASSERT_EQ(back->inputs.size(), 2u);
  EXPECT_EQ(back->inputs[0].name, "x");
  EXPECT_EQ(back->inputs[0].type.denotation, "IMAGE");
  ASSERT_TRUE(back->inputs[0].type.shape);
  EXPECT_EQ((*back->inputs[0].type.shape)[0].text(), "N");
  EXPECT_EQ((*back->inputs[0].type.shape)[1].text(), "3");
  EXPECT_TRUE((*back->inputs[0].type.shape)[2].is_unknown());
  EXPECT_EQ(back->inputs[1].type.text(), p.inputs[1].type.text());
  EXPECT_FALSE(back->outputs[0].type.inner->shape);
  EXPECT_EQ(back->outputs[1].type.kind, Type::Kind::unknown);
  EXPECT_FALSE(back->declared[0]);
  EXPECT_EQ(back->declared[1]->at(0).value(), 4);
}

TEST(Ports, ExpressionsAreUnknown) {
  Ports p;
  p.outputs = {{"y", Type::tensor(DType::f32, SymShape{Dim::symbol("N") + Dim(1)})}};
  const auto back = read_ports(ports_bytes(p));
  ASSERT_TRUE(back);
  EXPECT_TRUE((*back->outputs[0].type.shape)[0].is_unknown());
}

TEST(Ports, WhatIsNoneIsRefused) {
  Ports p;
  p.inputs = {{"x", Type::sequence(Type::tensor(DType::f32, SymShape{Dim(2), Dim::symbol("abc")}))}};
  p.outputs = {{"y", Type{}}};
  const std::string bytes = ports_bytes(p);
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(read_ports(bytes.substr(0, size))) << size;
  EXPECT_FALSE(read_ports(bytes + "x"));
  for (size_t at = 0; at < bytes.size(); ++at) {  // whatever it gives, it ends
    std::string bad = bytes;
    bad[at] = static_cast<char>(bad[at] ^ 0x7f);
    (void)read_ports(bad);
  }
}

}  // namespace
}  // namespace trunnion::session
