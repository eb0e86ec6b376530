#include "schema/schema.h"

#include <gtest/gtest.h>

#include <thread>

namespace trunnion::schema {
namespace {

const Type kF32T = Type::tensor(DType::f32);
const Type kF64T = Type::tensor(DType::f64);
const Type kI64T = Type::tensor(DType::i64);
const Type kBoolT = Type::tensor(DType::boolean);

TEST(Table, FindsTheNewestVersionThatTheOpsetHas) {
  EXPECT_EQ(find("", "Softmax", 28)->since, 13);
  EXPECT_EQ(find("", "Softmax", 12)->since, 11);
  EXPECT_EQ(find("", "Softmax", 11)->since, 11);
  EXPECT_EQ(find("", "Softmax", 1)->since, 1);
  EXPECT_EQ(find("ai.onnx", "Softmax", 13), find("", "Softmax", 20));
  EXPECT_EQ(find("", "Softmax", 0), nullptr);
  EXPECT_EQ(find("", "Gelu", 19), nullptr);
  EXPECT_EQ(find("", "Gelu", 20)->since, 20);
  EXPECT_TRUE(find("", "Gelu", 20)->context_function);
  EXPECT_EQ(find("", "softmax", 28), nullptr);
  EXPECT_EQ(find("", "", 28), nullptr);
  EXPECT_EQ(find("ai.onnx.ml", "Softmax", 28), nullptr);
  EXPECT_EQ(find("ai.onnx.ml", "TreeEnsemble", 5)->since, 5);
  EXPECT_TRUE(find("", "Upsample", 10)->deprecated);
  EXPECT_FALSE(find("", "Upsample", 9)->deprecated);
}

TEST(Table, KnowsDomainsAndVersions) {
  EXPECT_GE(newest_opset(""), 28);
  EXPECT_EQ(newest_opset("ai.onnx"), newest_opset(""));
  EXPECT_GE(newest_opset("ai.onnx.ml"), 5);
  EXPECT_EQ(newest_opset("com.example"), 0);
  EXPECT_GE(max_ir_version(), 14);
  const auto v = versions("", "Softmax");
  ASSERT_GE(v.size(), 3u);
  EXPECT_EQ(v[0], 1);
  EXPECT_EQ(v[1], 11);
  EXPECT_EQ(v[2], 13);
  EXPECT_TRUE(versions("", "FluxCapacitor").empty());
  EXPECT_GE(operators("").size(), 200u);
  EXPECT_EQ(operators("ai.onnx.ml").front(), "ArrayFeatureExtractor");
  EXPECT_TRUE(operators("com.example").empty());
}

TEST(Table, EveryRowParses) {
  int rows = 0;
  for (const char* domain : {"", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"})
    for (std::string_view op : operators(domain))
      for (int since : versions(domain, op)) {
        ++rows;
        const Schema* s = find(domain, op, since);
        ASSERT_NE(s, nullptr) << op << " " << since;
        EXPECT_EQ(s->op, op);
        EXPECT_EQ(s->since, since);
        EXPECT_EQ(s->domain, domain);
        for (const auto* params : {&s->inputs, &s->outputs})
          for (const Param& p : *params) EXPECT_FALSE(p.types.empty()) << op << " " << p.name;
        if (!s->deprecated) {
          EXPECT_GE(s->max_outputs, 1) << op;
        }
      }
  EXPECT_GE(rows, 659);
}

TEST(Table, SuggestsNames) {
  EXPECT_EQ(similar_operators("", "Sofmax").front(), "Softmax");
  EXPECT_EQ(similar_operators("", "relu").front(), "Relu");
  EXPECT_TRUE(similar_operators("", "FluxCapacitor").empty());
  EXPECT_TRUE(similar_operators("", std::string(100000, 'a')).empty());
  EXPECT_LE(similar_operators("", "ReduceSim", 2).size(), 2u);
}

TEST(Table, MayBeReadByManyThreads) {
  std::vector<std::thread> threads;
  std::vector<const Schema*> found(8);
  for (size_t t = 0; t < found.size(); ++t) threads.emplace_back([&, t] { found[t] = find("", "Conv", 22); });
  for (auto& t : threads) t.join();
  for (const Schema* s : found) EXPECT_EQ(s, found[0]);
  EXPECT_EQ(found[0]->inputs.size(), 3u);
}

TEST(Schema, KnowsParametersAndDefaults) {
  const Schema& s = *find("", "Conv", 22);
  EXPECT_EQ(s.attribute("group")->i, 1);
  EXPECT_EQ(s.attribute("auto_pad")->s, "NOTSET");
  EXPECT_FALSE(s.attribute("pads")->has_default);
  EXPECT_EQ(s.attribute("pads")->type, AttrType::ints);
  EXPECT_TRUE(s.is_input_required(1));
  EXPECT_FALSE(s.is_input_required(2));
  EXPECT_FALSE(s.is_input_required(3));
  EXPECT_FLOAT_EQ(find("", "BatchNormalization", 15)->attribute("epsilon")->f, 1e-5f);
  EXPECT_EQ(find("", "MeanVarianceNormalization", 13)->attribute("axes")->ints, (std::vector<int64_t>{0, 2, 3}));
  EXPECT_EQ(find("", "RNN", 14)->attribute("activations")->strings.size(), 2u);
  EXPECT_TRUE(find("", "If", 16)->has_graph_attribute());
  EXPECT_FALSE(s.has_graph_attribute());
}

TEST(Schema, ChecksArity) {
  const Schema& add = *find("", "Add", 14);
  EXPECT_TRUE(add.check_arity(2, 1).ok());
  EXPECT_EQ(add.check_arity(1, 1).message(), "has input size 1 not in range [min=2, max=2]");
  EXPECT_FALSE(add.check_arity(3, 1).ok());
  EXPECT_EQ(add.check_arity(2, 2).message(), "has output size 2 not in range [min=1, max=1]");
  EXPECT_EQ(add.check_arity(2, 0).code(), Code::invalid_graph);
  const Schema& concat = *find("", "Concat", 13);
  EXPECT_FALSE(concat.check_arity(0, 1).ok());
  EXPECT_TRUE(concat.check_arity(5000, 1).ok());
  EXPECT_TRUE(concat.is_input_required(0));
  EXPECT_FALSE(concat.is_input_required(1));
  const Schema& loop = *find("", "Loop", 16);
  EXPECT_TRUE(loop.check_arity(2, 1).ok());
  EXPECT_FALSE(loop.check_arity(1, 1).ok());  // M and cond may have empty names, but have to be there
  EXPECT_EQ(loop.input(7)->name, "v_initial");
  EXPECT_EQ(add.input(2), nullptr);
}

TEST(Schema, ChecksAttributes) {
  const Schema& cast = *find("", "Cast", 13);
  const NodeAttr to{"to", AttrType::i};
  EXPECT_TRUE(cast.check_attributes({{to}}).ok());
  EXPECT_EQ(cast.check_attributes({}).message(), "Required attribute 'to' is missing");
  const NodeAttr text{"to", AttrType::s};
  EXPECT_EQ(cast.check_attributes({{text}}).message(), "attribute 'to' has type STRING, needs INT");
  const NodeAttr two[] = {to, {"foo", AttrType::i}};
  EXPECT_EQ(cast.check_attributes(two).message(), "Unrecognized attribute: foo for operator Cast");
  const NodeAttr internal[] = {to, {"__foo", AttrType::i}};
  EXPECT_TRUE(cast.check_attributes(internal).ok());
}

TEST(Schema, SolvesTypes) {
  const Schema& add = *find("", "Add", 14);
  const Type* same[] = {&kF32T, &kF32T};
  auto r = add.solve_types(same, 1);
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(r->at(0).text(), "tensor(float)");

  const Type* mixed[] = {&kF32T, &kF64T};
  EXPECT_EQ(add.solve_types(mixed, 1).status().message(),
            "Type parameter (T) of operator (Add) is bound to different types (tensor(float) of input 0 and "
            "tensor(double) of input 1)");
  const Type* boolean[] = {&kBoolT, nullptr};
  const std::string refused = add.solve_types(boolean, 1).status().message();
  EXPECT_TRUE(refused.starts_with("Type 'tensor(bool)' of input parameter (A, input 0) of operator (Add) is invalid"))
      << refused;

  const Type* unknown[] = {nullptr, nullptr};
  EXPECT_EQ(add.solve_types(unknown, 1)->at(0).kind, Type::Kind::unknown);
  const Type* half[] = {nullptr, &kF64T};
  EXPECT_EQ(add.solve_types(half, 1)->at(0).text(), "tensor(double)");
  const Type* three[] = {&kF32T, &kF32T, &kF32T};
  EXPECT_FALSE(add.solve_types(three, 1).ok());
}

TEST(Schema, SolvesTypesOfFixedAndVariadicParameters) {
  const Type* topk_in[] = {&kF32T, &kI64T};
  auto r = find("", "TopK", 11)->solve_types(topk_in, 2);
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(r->at(0).text(), "tensor(float)");
  EXPECT_EQ(r->at(1).text(), "tensor(int64)");  // its constraint has one type only

  Type shaped = Type::tensor(DType::f32, SymShape{Dim(2)});
  const Type* split_in[] = {&shaped};
  r = find("", "Split", 13)->solve_types(split_in, 3);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->at(2).text(), "tensor(float)");
  EXPECT_FALSE(r->at(2).shape.has_value());

  const Type seq = Type::sequence(kF32T);
  const Type* at_in[] = {&seq, &kI64T};
  r = find("", "SequenceAt", 11)->solve_types(at_in, 1);
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(r->at(0).kind, Type::Kind::unknown);  // the element type is for inference to say

  const Type* loop_in[] = {&kI64T, &kBoolT, &kF32T, &kF64T};  // heterogeneous: no clash
  r = find("", "Loop", 16)->solve_types(loop_in, 2);
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(r->at(0).kind, Type::Kind::unknown);

  const Type* cast_in[] = {&kF32T};
  EXPECT_EQ(find("", "Cast", 13)->solve_types(cast_in, 1)->at(0).kind, Type::Kind::unknown);
}

TEST(TypeSet, GivesTheBenefitOfTheDoubt) {
  const TypeSet floats = kFloats;
  EXPECT_TRUE(floats.has(Type{}));
  EXPECT_TRUE(floats.has(Type::tensor(DType::undefined)));
  EXPECT_FALSE(floats.has(kI64T));
  EXPECT_FALSE(floats.has(Type::sequence(kF32T)));
  TypeSet sequences;
  sequences.add(TypeSet::Form::sequence, kFloats);
  EXPECT_TRUE(sequences.has(Type::sequence(Type{})));
  EXPECT_TRUE(sequences.has(Type::sequence(Type::tensor(DType::undefined))));
  EXPECT_FALSE(sequences.has(Type::sequence(Type::sequence(kF32T))));
  Type opaque;
  opaque.kind = Type::Kind::opaque;
  EXPECT_FALSE(floats.has(opaque));
}

}  // namespace
}  // namespace trunnion::schema
