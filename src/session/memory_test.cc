// Memory of a session: weights wherever their bytes lie, and the blocks of large outputs.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "onnx/exporter.h"
#include "session/test_model.h"

namespace trunnion::session::test {
namespace {

constexpr std::string_view kNet = R"(<opset: "" 17>
net(float[N,3,H,W] x, int64[M] ids) => (float[N,40] y, float[M,40] z) {
  float[32,3,3,3] w1 = random(1)
  float[32] b1 = random(2)
  float[32] scale = random(3)
  float[32] shift = random(4)
  float[32] mean = random(5)
  float[32] var = fill(2)
  float[32,40] w2 = random(6)
  float[500,40] table = random(7)
  float[40,40] w3 = random(8)
  c = Conv<pads=[1,1,1,1]>(x, w1, b1)
  n = BatchNormalization(c, scale, shift, mean, var)
  r = Relu(n)
  p = GlobalAveragePool(r)
  f = Flatten(p)
  m = MatMul(f, w2)
  y = MatMul(m, w3)
  g = Gather(table, ids)
  z = Gemm<transB=1>(g, w3)
})";

// The bytes of a model file.
std::vector<std::byte> file_of(std::string_view text) {
  ir::Model model;
  auto graph = ir::parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  if (!graph.ok()) return {};
  model.graph = std::move(graph).value();
  model.ir_version = 10;
  model.opset_imports[""] = 17;
  const std::string path = testing::TempDir() + "trunnion_bytes_" + std::to_string(os::process_id()) + ".onnx";
  EXPECT_TRUE(onnx::export_model(model, path).ok());
  auto content = os::read_file(path, size_t{64} << 20);
  (void)os::remove_file(path);
  EXPECT_TRUE(content.ok());
  if (!content.ok()) return {};
  const auto* begin = reinterpret_cast<const std::byte*>(content->data());
  return {begin, begin + content->size()};
}

// Raw data that is aligned for its type is used where it lies, other data is copied: nobody sees a difference, nor
// whether the weights were packed before another shape came.
TEST(SessionMemory, WeightsThatAreNotAligned) {
  const auto file = file_of(kNet);
  ASSERT_FALSE(file.empty());
  const auto inputs = [](int64_t n) {
    return std::vector<Value>{floats({n, 3, 6, 5 + n}, -20, .25f), ints({2}, {n, 499})};
  };
  std::vector<std::vector<float>> want;
  for (size_t shift = 0; shift < 4; ++shift) {
    for (const bool kept : {true, false}) {
      auto bytes = std::make_shared<std::vector<std::byte>>(shift + file.size());
      std::memcpy(bytes->data() + shift, file.data(), file.size());
      ModelSource source;
      source.bytes = std::span<const std::byte>(*bytes).subspan(shift);
      if (kept) source.keep_alive = bytes;
      auto s = Session::load({}, std::move(source), {});
      ASSERT_TRUE(s.ok()) << s.status().message();
      if (!kept) std::fill(bytes->begin(), bytes->end(), std::byte{0xff});
      std::vector<std::vector<float>> got;
      for (const int64_t n : {1, 3, 1, 2}) {
        auto r = run(**s, inputs(n));
        ASSERT_TRUE(r.ok()) << r.status().message();
        for (const Value& v : *r) got.push_back(floats_of(v));
      }
      if (want.empty()) want = got;
      EXPECT_EQ(got, want) << shift << kept;
      // The table is read, and so are the biases; the packed weights are not held twice.
      EXPECT_LT((*s)->memory().weights_bytes, 500 * 40 * sizeof(float) + 1000) << shift << kept;
    }
  }
}

// Every kernel that packs lets go of the original, and needs it for no later shape.
TEST(SessionMemory, PackedWeightsAreHeldOnce) {
  auto s = load(R"(<opset: "" 17>
net(float[S,N,32] x, uint8[N,8,K] a, uint8[N,16,H,H] q) => (float[?,?,?,?] y, int32[?,?,?] z, uint8[?,?,?,?] p, int32[?,?,?,?] c) {
  float[1,128,32] w = random(1)
  float[1,128,32] r = random(2)
  int8[64,64] b = random(3)
  uint8[32,16,3,3] k = random(4)
  float[] one = {1}
  uint8[] zero = {3}
  y = LSTM<hidden_size=32>(x, w, r)
  z = MatMulInteger(a, b)
  p = QLinearConv(q, one, zero, k, one, zero, one, zero)
  c = ConvInteger(q, k)
})");
  ASSERT_TRUE(s.ok()) << s.status().message();
  EXPECT_LT((*s)->memory().weights_bytes, 100u);
  const auto bytes = [](std::vector<int64_t> dims) {
    auto t = Tensor::allocate(DType::u8, dims);
    for (int64_t i = 0; i < t->count(); ++i) t->data<uint8_t>()[i] = static_cast<uint8_t>(i * 7);
    return *t;
  };
  const auto results = [&](int64_t steps, int64_t size) {
    auto all = run(**s, {floats({steps, 1, 32}, -1, .01f), bytes({1, 8, 64}), bytes({1, 16, size, size})});
    EXPECT_TRUE(all.ok()) << all.status().message();
    return all.ok() ? std::move(all).value() : std::vector<Value>(4, Value(floats({32})));
  };
  const auto one = results(1, 5), many = results(4, 9), again = results(1, 5);
  EXPECT_EQ(floats_of(one[0]), floats_of(again[0]));
  EXPECT_TRUE(std::equal(one[0].tensor().span<float>().begin(), one[0].tensor().span<float>().end(),
                         many[0].tensor().span<float>().begin()));  // the first step
  for (int i : {1, 2, 3})
    EXPECT_EQ(std::memcmp(one[static_cast<size_t>(i)].tensor().raw(), again[static_cast<size_t>(i)].tensor().raw(),
                          one[static_cast<size_t>(i)].tensor().bytes()),
              0);
}

constexpr std::string_view kLarge =
    "<opset: \"\" 17> g(float[N] x) => (float[N] y, float[N] z) { y = Neg(x)\n z = Abs(y) }";
constexpr int64_t kMany = 1 << 20;

TEST(SessionMemory, LargeOutputsComeBack) {
  auto s = load(kLarge);
  ASSERT_TRUE(s.ok());
  const Value x = floats({kMany});
  auto r = run(**s, {x});
  ASSERT_TRUE(r.ok());
  const Value kept = (*r)[0];
  const void* at = (*r)[1].tensor().raw();
  r->clear();
  bool again = false;
  for (int i = 0; i < 3; ++i) {
    r = run(**s, {x});
    ASSERT_TRUE(r.ok());
    for (const Value& v : *r) {
      EXPECT_NE(v.tensor().raw(), kept.tensor().raw());
      again = again || v.tensor().raw() == at;
    }
    EXPECT_EQ((*r)[1].tensor().data<float>()[kMany - 1], static_cast<float>(kMany - 1));
    r->clear();
  }
  EXPECT_TRUE(again);
  EXPECT_GT((*s)->memory().output_bytes, 0u);
  RunOptions shrink;
  shrink.config["memory.enable_memory_arena_shrinkage"] = "cpu:0";
  ASSERT_TRUE(run(**s, {x}, shrink).ok());
  EXPECT_EQ((*s)->memory().arena_bytes, 0u);
  s->reset();  // the result outlives its session
  EXPECT_EQ(kept.tensor().data<float>()[kMany - 1], static_cast<float>(1 - kMany));
}

TEST(SessionMemory, WithoutAnArenaNothingIsKept) {
  Options options;
  options.cpu_arena = false;
  auto s = load(kLarge, options);
  ASSERT_TRUE(s.ok());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(run(**s, {floats({kMany})}).ok());
    EXPECT_EQ((*s)->memory().output_bytes, 0u);
  }
}

TEST(SessionMemory, BlocksWithManyCallersAndInAChild) {
  auto s = load(kLarge);
  ASSERT_TRUE(s.ok());
  const auto good = [&](float first) {
    auto r = run(**s, {floats({kMany}, first)});
    return r.ok() && floats_of((*r)[0])[1] == -(first + 1) && floats_of((*r)[1])[2] == first + 2;
  };
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id)
    threads.emplace_back([&, id] {
      for (int i = 0; i < 8; ++i) EXPECT_TRUE(good(static_cast<float>(100 * id + i)));
    });
  const pid_t child = fork();  // while the others run
  if (child == 0) _exit(good(5) && good(6) ? 0 : 1);
  for (auto& t : threads) t.join();
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_EQ(state, 0);
  EXPECT_TRUE(good(7));
  EXPECT_LE((*s)->memory().output_bytes, 5u * 2 * kMany * sizeof(float));
}

}  // namespace
}  // namespace trunnion::session::test
