// For tests of this room: a program from a graph in text form, and shorthand for running it.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ep/cpu/cpu_provider.h"
#include "ops/parsed_graph.h"
#include "run/executor.h"

namespace trunnion::run::test {

class TestProgram {
 public:
  explicit TestProgram(std::string_view text, int threads = 1)
      : TestProgram(std::shared_ptr<ir::Graph>(ops::test::parsed(text)), threads) {}
  explicit TestProgram(std::shared_ptr<ir::Graph> graph, int threads = 1) : graph_(std::move(graph)) {
    if (!graph_) return;
    auto built = plan::build(*graph_, *provider_, graph_);
    EXPECT_TRUE(built.ok()) << built.status().message();
    if (!built.ok()) return;
    program_ = std::move(built).value();
    executor_ = std::make_unique<Executor>(*program_, threads);
    env.threads = threads;
  }

  bool ok() const { return executor_ != nullptr; }
  Executor& executor() { return *executor_; }
  const plan::Program& program() const { return *program_; }

  Result<std::vector<Value>> run(const std::vector<Value>& inputs) {
    std::vector<Feed> feeds;
    for (const auto& v : inputs) feeds.push_back(feed_of(v));
    std::vector<Value> outputs(program_->outputs.size());
    TRN_TRY(executor_->run(env, feeds, outputs));
    return outputs;
  }
  // Fails the test when the run does.
  std::vector<Value> results(const std::vector<Value>& inputs) {
    auto r = run(inputs);
    EXPECT_TRUE(r.ok()) << r.status().message();
    return r.ok() ? std::move(r).value() : std::vector<Value>(program_->outputs.size());
  }
  std::string failure(const std::vector<Value>& inputs) {
    const auto r = run(inputs);
    EXPECT_FALSE(r.ok());
    return r.status().message();
  }

  RunEnv env;

 private:
  std::shared_ptr<ir::Graph> graph_;
  std::unique_ptr<ep::Provider> provider_ = ep::make_cpu_provider();
  std::unique_ptr<plan::Program> program_;
  std::unique_ptr<Executor> executor_;
};

template <class T>
Tensor tensor(std::vector<int64_t> dims, std::vector<T> values) {
  auto t = Tensor::allocate(DTypeOf<T>::value, dims);
  EXPECT_TRUE(t.ok() && t->count() == static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) t->template data<T>()[i] = values[i];
  return *t;
}
inline Tensor floats(std::vector<int64_t> dims, std::vector<float> values) { return tensor<float>(dims, values); }
inline Tensor ints(std::vector<int64_t> dims, std::vector<int64_t> values) { return tensor<int64_t>(dims, values); }
inline Tensor flag(bool b) {
  auto t = Tensor::allocate(DType::boolean, Shape{});
  *t->data<uint8_t>() = b;
  return *t;
}
inline Tensor strings(std::vector<int64_t> dims, std::vector<std::string> values) {
  auto t = Tensor::allocate(DType::string, dims);
  std::copy(values.begin(), values.end(), t->data<std::string>());
  return *t;
}
inline Tensor counting(std::vector<int64_t> dims, float first = 0) {
  auto t = Tensor::allocate(DType::f32, dims);
  for (int64_t i = 0; i < t->count(); ++i) t->data<float>()[i] = first + static_cast<float>(i);
  return *t;
}

template <class T>
std::vector<T> values(const Value& v) {
  EXPECT_TRUE(v.is_tensor() && v.tensor().dtype() == DTypeOf<T>::value);
  if (!v.is_tensor()) return {};
  const auto s = v.tensor().span<T>();
  return {s.begin(), s.end()};
}
using Floats = std::vector<float>;
inline Floats floats_of(const Value& v) { return values<float>(v); }
inline Shape shape_of(const Value& v) { return v.tensor().shape(); }

inline bool same_bytes(const Value& a, const Value& b) {
  if (a.kind() != b.kind() || !a.is_tensor()) return false;
  const Tensor &x = a.tensor(), &y = b.tensor();
  return x.dtype() == y.dtype() && x.shape() == y.shape() && (!x.bytes() || !std::memcmp(x.raw(), y.raw(), x.bytes()));
}

}  // namespace trunnion::run::test
