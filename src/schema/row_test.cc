#include "schema/row.h"

#include <gtest/gtest.h>

namespace trunnion::schema {
namespace {

using Form = TypeSet::Form;

TEST(Row, ReadsEveryPart) {
  const auto r = parse_row(
      "com.microsoft::Thing 3 deprecated function (A:T, B?:i64, C+2~:U) -> (Y:T, Z*:seq(float|string)) "
      "{mode!:s, alpha:f=-1e-2, axes:is=[0,-2], names:ss=['a','b c'], text:s='NOTSET', body:g, empty:fs=[]} "
      "T=float|bf16 U=basic|opt(i32|seq(u8))");
  ASSERT_TRUE(r.ok()) << r.status().message();
  const Schema& s = *r;
  EXPECT_EQ(s.domain, "com.microsoft");
  EXPECT_EQ(s.op, "Thing");
  EXPECT_EQ(s.since, 3);
  EXPECT_TRUE(s.deprecated);
  EXPECT_TRUE(s.function);
  EXPECT_FALSE(s.context_function);
  ASSERT_EQ(s.inputs.size(), 3u);
  EXPECT_EQ(s.inputs[0].name, "A");
  EXPECT_EQ(s.inputs[0].constraint, 0);
  EXPECT_EQ(s.inputs[0].types.tensors().bits(), kFloats.bits());
  EXPECT_EQ(s.inputs[1].kind, Param::Kind::optional);
  EXPECT_EQ(s.inputs[1].constraint, -1);
  EXPECT_EQ(s.inputs[1].types.tensors().bits(), DTypes(DType::i64).bits());
  EXPECT_EQ(s.inputs[2].kind, Param::Kind::variadic);
  EXPECT_EQ(s.inputs[2].min_arity, 2);
  EXPECT_FALSE(s.inputs[2].homogeneous);
  EXPECT_EQ(s.inputs[2].constraint, 1);
  EXPECT_EQ(s.inputs[2].types.of(Form::optional).bits(), DTypes(DType::i32).bits());
  EXPECT_EQ(s.inputs[2].types.of(Form::optional_sequence).bits(), DTypes(DType::u8).bits());
  ASSERT_EQ(s.outputs.size(), 2u);
  EXPECT_EQ(s.outputs[1].types.of(Form::sequence).bits(),
            (DType::f16 | DType::f32 | DType::f64 | DType::string).bits());
  EXPECT_TRUE(s.outputs[1].types.tensors().bits() == 0);
  EXPECT_EQ(s.min_inputs, 4);
  EXPECT_EQ(s.max_inputs, Schema::kUnbounded);
  EXPECT_EQ(s.min_outputs, 1);
  EXPECT_EQ(s.max_outputs, Schema::kUnbounded);
  ASSERT_EQ(s.attributes.size(), 7u);
  EXPECT_TRUE(s.attribute("mode")->required);
  EXPECT_FALSE(s.attribute("mode")->has_default);
  EXPECT_FLOAT_EQ(s.attribute("alpha")->f, -0.01f);
  EXPECT_EQ(s.attribute("axes")->ints, (std::vector<int64_t>{0, -2}));
  EXPECT_EQ(s.attribute("names")->strings, (std::vector<std::string_view>{"a", "b c"}));
  EXPECT_EQ(s.attribute("text")->s, "NOTSET");
  EXPECT_TRUE(s.attribute("empty")->has_default);
  EXPECT_TRUE(s.attribute("empty")->floats.empty());
  EXPECT_TRUE(s.has_graph_attribute());
  EXPECT_EQ(s.attribute("nothing"), nullptr);
}

TEST(Row, ReadsTheShortestRow) {
  const auto r = parse_row("ai.onnx::Nop 1 () -> ()");
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(r->domain, "");
  EXPECT_EQ(r->max_inputs, 0);
  EXPECT_EQ(r->max_outputs, 0);
}

TEST(Row, ReadsMaps) {
  const auto r = parse_row("ZipMap 1 (X:map(i64,f32)) -> (Z:T) T=seq(map(i64,f32)|map(string,f64))|sparse(u8)");
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_TRUE(r->inputs[0].types.has(Type::map(DType::i64, Type::tensor(DType::f32))));
  EXPECT_FALSE(r->inputs[0].types.has(Type::map(DType::string, Type::tensor(DType::f32))));
  const TypeSet& z = r->outputs[0].types;
  EXPECT_EQ(z.text(), "seq(map(int64,tensor(float))), seq(map(string,tensor(double))), sparse_tensor(uint8)");
  EXPECT_FALSE(z.only().has_value());
  EXPECT_EQ(r->inputs[0].types.only()->text(), "map(int64,tensor(float))");
}

TEST(Row, RefusesWhatItCannotRead) {
  for (const char* bad : {"",
                          "Relu",
                          "Relu x (X:T) -> (Y:T) T=float",
                          "Relu 0 () -> ()",
                          "Relu 1 (X:T) (Y:T) T=float",
                          "Relu 1 (X:T) -> (Y:T)",
                          "Relu 1 (X:f33) -> ()",
                          "Relu 1 (X:f32",
                          "Relu 1 (X) -> ()",
                          "Relu 1 (X:f32,) -> ()",
                          "Relu 1 () -> () {a}",
                          "Relu 1 () -> () {a:q}",
                          "Relu 1 () -> () {a:i=x}",
                          "Relu 1 () -> () {a:s='x}",
                          "Relu 1 () -> () {a:is=[1}",
                          "Relu 1 () -> () {a:g=1}",
                          "Relu 1 () -> () T",
                          "Relu 1 () -> () T=",
                          "Relu 1 strange () -> ()",
                          "Relu 1 (X:seq(seq(seq(seq(f32))))) -> ()",
                          "Relu 1 (X:map(f32,f32)) -> ()",
                          "Relu 1 (X:f32|) -> ()",
                          "a:Relu 1 () -> ()"}) {
    const auto r = parse_row(bad);
    EXPECT_FALSE(r.ok()) << bad;
  }
  EXPECT_EQ(parse_row("Relu 1 (X:f33) -> ()").status().message(),
            "signature 'Relu 1 (X:f33) -> ()': expected a type at column 14");
}

TEST(Row, EveryPrefixGivesAnAnswer) {
  const std::string row =
      "d::Op 12 function (A:T, B+2~:map(string,f32)) -> (Y:opt(seq(f8))) {a!:i, b:ss=['x','y']} T=num|c64";
  for (size_t n = 0; n < row.size(); ++n) (void)parse_row(std::string_view(row).substr(0, n));
  EXPECT_TRUE(parse_row(row).ok());
}

}  // namespace
}  // namespace trunnion::schema
