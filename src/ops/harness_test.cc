// The harness declared in op_test.h, and a test of its own.
#include "ops/op_test.h"

namespace trunnion::ops::test {
namespace {

// A graph with one node; the caller owns it as long as the node is used.
Result<ir::Node*> build(ir::Graph& g, const OpRun& op, const std::vector<ir::Fact>* facts) {
  std::vector<ir::Value*> inputs;
  const size_t n = facts ? facts->size() : op.inputs.size();
  for (size_t i = 0; i < n; ++i) {
    const bool given = i < op.inputs.size();
    const bool absent = facts ? (*facts)[i].type.kind == Type::Kind::unknown
                              : op.inputs[i].is_tensor() && !op.inputs[i].tensor().valid();
    if (absent) {
      inputs.push_back(nullptr);
    } else if (given && op.inputs[i].is_tensor() && op.inputs[i].tensor().valid() && i < op.constant.size() &&
               op.constant[i]) {
      inputs.push_back(g.add_constant("c", op.inputs[i].tensor()));
    } else {
      ir::Fact fact;
      if (facts)
        fact = (*facts)[i];
      else
        fact.type = op.inputs[i].type();
      if (!facts && fact.type.is_tensor()) fact.type.shape.reset();
      inputs.push_back(g.add_input("x", fact));
    }
  }
  std::vector<std::string_view> names(static_cast<size_t>(op.outputs), "y");
  ir::Node* node = g.add_node(op.op, op.domain, op.opset, inputs, names, op.attrs, nullptr, "node");
  for (ir::Value* v : node->outputs()) g.add_output(v);
  TRN_TRY(resolve(g));
  return node;
}

}  // namespace

Tensor strings(std::initializer_list<int64_t> dims, std::vector<std::string> values) {
  auto t = Tensor::allocate(DType::string, std::vector<int64_t>(dims));
  EXPECT_TRUE(t.ok());
  std::copy(values.begin(), values.end(), t->data<std::string>());
  return *t;
}

Result<std::vector<Value>> run(const OpRun& op) {
  ir::Graph g;
  TRN_ASSIGN(const ir::Node* node, build(g, op, nullptr));
  if (!node->def) return not_implemented("{} is not in this build", op.op);
  std::vector<const Value*> inputs;
  for (const auto& v : op.inputs) inputs.push_back(v.is_tensor() && !v.tensor().valid() ? nullptr : &v);
  return evaluate(*node, inputs);
}

Result<std::vector<ir::Fact>> infer(const OpRun& op, const std::vector<ir::Fact>& facts) {
  ir::Graph g;
  TRN_ASSIGN(ir::Node * node, build(g, op, &facts));
  if (!node->def) return not_implemented("{} is not in this build", op.op);
  TRN_TRY(ops::infer(g));
  std::vector<ir::Fact> out;
  for (ir::Value* v : node->outputs()) out.push_back(v->fact);
  return out;
}

TEST(Harness, UnknownOperatorIsAnError) {
  const auto r = run({.op = "NoSuchOperator", .inputs = {tensor<float>({1}, {1})}});
  EXPECT_EQ(r.status().code(), Code::invalid_graph);
}

}  // namespace trunnion::ops::test
