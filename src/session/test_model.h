// For tests of this room: a session from a graph in text form, and shorthand for running it.
#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "base/os.h"
#include "ir/text.h"
#include "onnx/exporter.h"
#include "session/session.h"

namespace trunnion::session::test {

// Writes the graph as a .onnx file and loads it.
inline Result<std::unique_ptr<Session>> load(std::string_view text, Options options = {},
                                             Environment environment = {}) {
  static std::atomic<int> counter{0};
  ir::Model model;
  TRN_ASSIGN(model.graph, ir::parse_graph(text));
  model.ir_version = 10;
  model.graph->for_each_node_deep([&](ir::Node* n) { model.opset_imports[n->domain()] = n->opset(); });
  const std::string path =
      testing::TempDir() + "trunnion_" + std::to_string(os::process_id()) + "_" + std::to_string(counter++) + ".onnx";
  TRN_TRY(onnx::export_model(model, path));
  auto session = Session::load(environment, {path, {}, nullptr}, std::move(options));
  (void)os::remove_file(path);  // the mapping outlives the name
  return session;
}

inline Tensor floats(std::vector<int64_t> dims, float first = 0, float step = 1) {
  auto t = Tensor::allocate(DType::f32, dims);
  EXPECT_TRUE(t.ok());
  for (int64_t i = 0; i < t->count(); ++i) t->data<float>()[i] = first + step * static_cast<float>(i);
  return *t;
}
inline Tensor ints(std::vector<int64_t> dims, std::vector<int64_t> values) {
  auto t = Tensor::allocate(DType::i64, dims);
  EXPECT_TRUE(t.ok());
  std::copy(values.begin(), values.end(), t->data<int64_t>());
  return *t;
}

// Runs with every input in order, every output wanted.
inline Result<std::vector<Value>> run(Session& s, const std::vector<Value>& inputs, const RunOptions& options = {}) {
  std::vector<const char*> in, out;
  std::vector<const Value*> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    in.push_back(s.inputs()[i].name.c_str());
    values.push_back(&inputs[i]);
  }
  for (const auto& o : s.outputs()) out.push_back(o.name.c_str());
  std::vector<Value> outputs(out.size());
  TRN_TRY(s.run(options, in, values, out, outputs));
  return outputs;
}

inline std::vector<float> floats_of(const Value& v) {
  EXPECT_TRUE(v.is_tensor() && v.tensor().dtype() == DType::f32);
  const auto s = v.tensor().span<float>();
  return {s.begin(), s.end()};
}

}  // namespace trunnion::session::test
