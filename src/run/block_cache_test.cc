// BlockCache: what comes back, how much is kept, who may outlive whom.
#include "run/block_cache.h"

#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "run/test_program.h"

namespace trunnion::run::test {
namespace {

constexpr int64_t kMegabyte = 1 << 20;

Tensor bytes(BlockCache& cache, int64_t n) {
  auto t = cache.allocate(DType::u8, Shape{n});
  EXPECT_TRUE(t.ok()) << t.status().message();
  return t.ok() ? *t : Tensor();
}
void* address(BlockCache& cache, int64_t n) { return bytes(cache, n).raw(); }

TEST(BlockCache, ALargeBlockComesBack) {
  const auto cache = std::make_shared<BlockCache>();
  Tensor first = bytes(*cache, kMegabyte);
  std::memset(first.raw(), 1, first.bytes());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first.raw()) % 64, 0u);
  void* const at = first.raw();
  const Tensor copy = first;
  first = {};
  EXPECT_EQ(cache->idle_bytes(), 0u);  // the copy holds it
  EXPECT_NE(address(*cache, kMegabyte), at);
  const auto text = cache->allocate(DType::string, Shape{kMegabyte});
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->data<std::string>()[7], "");
}

TEST(BlockCache, OneThatFitsAndWastesLittle) {
  const auto cache = std::make_shared<BlockCache>();
  void* const at = address(*cache, kMegabyte);
  EXPECT_EQ(cache->idle_bytes(), static_cast<size_t>(kMegabyte));
  EXPECT_EQ(address(*cache, kMegabyte), at);
  EXPECT_EQ(address(*cache, kMegabyte - kMegabyte / 16), at);
  EXPECT_NE(address(*cache, kMegabyte / 2), at);                       // half of it would lie idle
  EXPECT_EQ(cache->idle_bytes(), static_cast<size_t>(kMegabyte / 2));  // no room for both: the older one goes
}

TEST(BlockCache, KeepsWhatTheOutputsOfARunTake) {
  const auto cache = std::make_shared<BlockCache>();
  {
    std::vector<Tensor> many;
    for (int i = 0; i < 40; ++i) many.push_back(bytes(*cache, kMegabyte));
    cache->run_ended(3 * kMegabyte, 1);
  }
  EXPECT_EQ(cache->idle_bytes(), 3u * kMegabyte);  // not forty
  {
    std::vector<Tensor> many;
    for (int i = 0; i < 40; ++i) many.push_back(bytes(*cache, kMegabyte));
    cache->run_ended(3 * kMegabyte, 4);
  }
  EXPECT_GE(cache->idle_bytes(), 12u * kMegabyte);  // four runs at a time
  EXPECT_LE(cache->idle_bytes(), 14u * kMegabyte);
  {
    std::vector<Tensor> many;
    for (int i = 0; i < 100; ++i) many.push_back(bytes(*cache, kMegabyte));
    cache->run_ended(1000 * kMegabyte, 1);
  }
  EXPECT_EQ(cache->idle_bytes(), BlockCache::kMaxBlocks * kMegabyte);
}

TEST(BlockCache, ForgetsALargeRun) {
  const auto cache = std::make_shared<BlockCache>();
  address(*cache, 8 * kMegabyte);
  cache->run_ended(8 * kMegabyte, 1);
  EXPECT_EQ(cache->idle_bytes(), 8u * kMegabyte);
  for (int i = 0; i < 2 * BlockCache::kWindow; ++i) {
    address(*cache, kMegabyte);
    cache->run_ended(kMegabyte, 1);
  }
  EXPECT_EQ(cache->idle_bytes(), 1u * kMegabyte);
  for (int i = 0; i < 2 * BlockCache::kWindow; ++i) cache->run_ended(0, 1);
  EXPECT_EQ(cache->idle_bytes(), 0u);
}

TEST(BlockCache, ClearedAndClosed) {
  auto cache = std::make_shared<BlockCache>();
  address(*cache, kMegabyte);
  cache->clear();
  EXPECT_EQ(cache->idle_bytes(), 0u);
  address(*cache, kMegabyte);
  EXPECT_GT(cache->idle_bytes(), 0u);
  Tensor late = bytes(*cache, 2 * kMegabyte);
  cache->close();
  EXPECT_EQ(cache->idle_bytes(), 0u);
  const std::weak_ptr<BlockCache> watch = cache;
  cache.reset();
  std::memset(late.raw(), 1, late.bytes());  // lives on without its session
  EXPECT_FALSE(watch.expired());
  late = {};
  EXPECT_TRUE(watch.expired());
}

TEST(BlockCache, ManyThreads) {
  const auto cache = std::make_shared<BlockCache>();
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id)
    threads.emplace_back([&, id] {
      Tensor before;
      for (int i = 0; i < 300; ++i) {
        Tensor t = bytes(*cache, (1 + (i + id) % 3) * kMegabyte / 2);
        std::memset(t.raw(), id + 1, 4096);
        std::memset(t.data<uint8_t>() + t.bytes() - 64, id + 1, 64);
        std::this_thread::yield();
        for (size_t k : {size_t{0}, size_t{4095}, t.bytes() - 1})
          if (t.data<uint8_t>()[k] != id + 1) ADD_FAILURE() << "somebody else has written here";
        std::swap(before, t);
        cache->run_ended(3 * kMegabyte / 2, 4);
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_LE(cache->idle_bytes(), 7u * kMegabyte);
}

TEST(BlockCache, InAForkedChild) {
  const auto cache = std::make_shared<BlockCache>();
  void* const at = address(*cache, kMegabyte);
  const pid_t child = fork();
  if (child == 0) {
    bool good = address(*cache, kMegabyte) == at;
    cache->run_ended(kMegabyte, 1);
    cache->close();
    good = good && cache->idle_bytes() == 0;
    _exit(good ? 0 : 1);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_EQ(state, 0);
  EXPECT_EQ(address(*cache, kMegabyte), at);
}

// Results that the caller holds are never written again; those that are gone give their memory.
TEST(BlockCache, OutputsOfAProgram) {
  TestProgram p(R"(<opset: "" 17>
g(float[N] x, bool[] more) => (float[N] y, float[?] z, float[?] w) {
  y = Neg(x)
  zero = Sub(x, x)
  some = Greater(x, zero)
  z = Compress(x, some)
  w = If<then_branch=a() => (o) { o = Neg(y) }, else_branch=b() => (o) { o = Identity(z) }>(more)
})");
  ASSERT_TRUE(p.ok());
  const auto cache = std::make_shared<BlockCache>();
  p.env.blocks = cache.get();
  const int64_t n = 200'000;
  const auto held = p.results({counting({n}, 1), flag(true)});
  void* last = nullptr;
  for (int i = 0; i < 6; ++i) {
    auto r = p.results({counting({n}, static_cast<float>(2 + i)), flag(i % 2 == 0)});
    cache->run_ended(3 * static_cast<size_t>(n) * sizeof(float), 1);
    ASSERT_EQ(r[0].tensor().count(), n);
    EXPECT_EQ(r[0].tensor().data<float>()[0], static_cast<float>(-2 - i));
    EXPECT_EQ(r[1].tensor().data<float>()[n - 1], static_cast<float>(1 + i + n));
    EXPECT_EQ(r[2].tensor().data<float>()[0], static_cast<float>(2 + i));
    last = r[0].tensor().raw();
  }
  EXPECT_GT(cache->idle_bytes(), 0u);
  EXPECT_NE(held[0].tensor().raw(), last);
  EXPECT_EQ(held[0].tensor().data<float>()[n - 1], static_cast<float>(-n));
  EXPECT_EQ(held[1].tensor().data<float>()[0], 1);
  EXPECT_EQ(held[2].tensor().data<float>()[n - 1], static_cast<float>(n));
}

}  // namespace
}  // namespace trunnion::run::test
