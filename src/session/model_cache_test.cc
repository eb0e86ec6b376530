// The model cache: entries that are used, and all the ways in which one is not.
#include "session/model_cache.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "base/cpu_info.h"
#include "base/os_files.h"
#include "session/pack_store.h"
#include "session/test_model.h"

namespace trunnion::session::test {
namespace {

constexpr std::string_view kNet = R"(<opset: "" 17>
net(float[N,3,H,W] x, int64[M] ids, float[S,1,16] s) => (float[N,40] y, float[M,40] z, float[S,1,1,16] r, float[N,40] q) {
  float[32,3,3,3] w1 = random(1)
  float[32] b1 = random(2)
  float[32] scale = random(3)
  float[32] shift = random(4)
  float[32] mean = random(5)
  float[32] var = fill(2)
  float[32,40] w2 = random(6)
  float[500,40] table = random(7)
  float[40,40] w3 = random(8)
  float[1,64,16] lw = random(9)
  float[1,64,16] lr = random(10)
  float[40,40] w4 = random(11)
  c = Conv<pads=[1,1,1,1]>(x, w1, b1)
  n = BatchNormalization(c, scale, shift, mean, var)
  a = Relu(n)
  p = GlobalAveragePool(a)
  f = Flatten(p)
  m = MatMul(f, w2)
  y = MatMul(m, w3)
  g = Gather(table, ids)
  z = Gemm<transB=1>(g, w3)
  r = LSTM<hidden_size=16>(s, lw, lr)
  h = Gelu<approximate="none">(y)
  q = MatMul(h, w4)
})";

struct Lines : LogSink {
  void write(const LogRecord& r) override { text += std::string(r.text) + "\n"; }
  std::string text;
};

class ModelCache : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "trunnion_cache_" + std::to_string(os::process_id());
    clear();
    ASSERT_TRUE(os::make_folder(folder_).ok());
    model_ = folder_ + "/model.onnx";
    ASSERT_TRUE(save(kNet).ok());
  }
  void TearDown() override {
    clear();
    ::rmdir(folder_.c_str());
  }
  std::vector<os::FolderEntry> files() const {
    auto list = os::list_folder(folder_);
    return list.ok() ? std::move(list).value() : std::vector<os::FolderEntry>();
  }
  void clear() {
    for (const auto& e : files()) (void)os::remove_file(folder_ + "/" + e.name);
  }
  Status save(std::string_view text) {
    std::string net(text);
    const auto at = net.find("\"\" 17");
    net.replace(at, 5, "\"\" 20");
    ir::Model m;
    TRN_ASSIGN(m.graph, ir::parse_graph(net));
    m.ir_version = 10;
    m.opset_imports[""] = 20;
    return onnx::export_model(m, model_);
  }
  std::string entry() {
    for (const auto& e : files())
      if (e.name.ends_with(".trn")) return folder_ + "/" + e.name;
    return {};
  }
  size_t entries() {
    size_t n = 0;
    for (const auto& e : files()) n += e.name.ends_with(".trn");
    return n;
  }
  // Loads, runs, and gives what was logged of the cache.
  std::string log_of_load(Options o = {}) {
    auto sink = std::make_shared<Lines>();
    o.log_sink = sink;
    o.log_severity = 1;
    o.config["session.cache_dir"] = folder_;
    auto s = Session::load({}, {model_, {}, nullptr}, std::move(o));
    EXPECT_TRUE(s.ok()) << s.status().message();
    if (!s.ok()) return {};
    for (const int64_t n : {1, 2}) {
      auto r = run(**s, {floats({n, 3, 6, 5}, -20, .25f), ints({2}, {n, 499}), floats({3, 1, 16}, -1, .05f)});
      EXPECT_TRUE(r.ok()) << r.status().message();
      if (!r.ok()) continue;
      std::vector<std::vector<float>> got;
      for (const Value& v : *r) got.push_back(floats_of(v));
      auto& want = want_[static_cast<size_t>(n) - 1];
      if (want.empty()) want = got;
      EXPECT_EQ(got, want);
    }
    names_.clear();
    for (const auto& step : (*s)->placement().nodes) names_ += step.node + "\n";
    return sink->text;
  }
  void expect(const std::string& log, std::string_view part) {
    EXPECT_NE(log.find(part), std::string::npos) << part << " is not in\n" << log;
  }

  std::string folder_, model_, names_;
  std::vector<std::vector<float>> want_[2];
};

TEST_F(ModelCache, WrittenOnceThenUsed) {
  std::string log = log_of_load();
  expect(log, "model cache: miss");
  expect(log, "no entry for this model");
  expect(log, "model cache: written");
  for (int i = 0; i < 2; ++i) expect(log_of_load(), "model cache: hit");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(ModelCache, OffUnlessAskedFor) {
  auto s = Session::load({}, {model_, {}, nullptr}, {});
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(entries(), 0u);
}

TEST_F(ModelCache, TornAnywhere) {
  (void)log_of_load();
  auto whole = os::read_file(entry(), size_t{1} << 30);
  ASSERT_TRUE(whole.ok());
  const std::string path = entry();
  const auto rewrite = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  };
  // Cut: nothing left, inside the header, behind it, inside blobs, one byte short.
  for (const size_t size : {size_t{0}, size_t{40}, size_t{88}, whole->size() / 2, whole->size() - 1}) {
    rewrite(whole->substr(0, size));
    const std::string log = log_of_load();
    expect(log, "model cache: miss");
    expect(log, "torn");
    expect(log, "model cache: written");
    expect(log_of_load(), "model cache: hit");
  }
  // A byte changed: each field of the header, the index and the graph at the end.
  for (size_t at = 0; at < 88; at += 8) {
    std::string bad = *whole;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    rewrite(bad);
    const std::string log = log_of_load();
    expect(log, "model cache: miss");
    expect(log, "model cache: written");
  }
  for (const size_t back : {size_t{3}, size_t{200}, size_t{1500}}) {
    std::string bad = *whole;
    bad[whole->size() - back] = static_cast<char>(bad[whole->size() - back] ^ 0x10);
    rewrite(bad);
    expect(log_of_load(), "torn");
  }
  rewrite("something else that lies under this name and is long enough to have a header of eighty-eight bytes......");
  expect(log_of_load(), "no entry of this cache");
}

TEST_F(ModelCache, ForeignAndStale) {
  (void)log_of_load();
  const std::string path = entry();
  auto whole = os::read_file(path, size_t{1} << 30);
  ASSERT_TRUE(whole.ok());
  // Another CPU level, another option: other entries.
  if (cpu_info().rung > Rung::baseline) {
    force_rung_for_test(Rung::baseline);
    want_[0].clear(), want_[1].clear();
    expect(log_of_load(), "model cache: miss");
    EXPECT_EQ(entries(), 2u);
    clear_forced_rung_for_test();
    for (const auto& e : files())
      if (e.name.ends_with(".trn") && folder_ + "/" + e.name != path) {  // the foreign entry under our name
        auto foreign = os::read_file(folder_ + "/" + e.name, size_t{1} << 30);
        std::ofstream(path, std::ios::binary | std::ios::trunc) << *foreign;
      }
    want_[0].clear(), want_[1].clear();
    expect(log_of_load(), "another model, engine, CPU or set of options");
  }
  Options basic;
  basic.optimization_level = OptimizationLevel::basic;
  want_[0].clear(), want_[1].clear();
  expect(log_of_load(basic), "no entry for this model");
  // The same content in another file: used, without being written again.
  want_[0].clear(), want_[1].clear();
  expect(log_of_load(), "model cache: hit");
  auto model = os::read_file(model_, size_t{1} << 30);
  ASSERT_TRUE(model.ok());
  (void)os::remove_file(model_);
  std::ofstream(model_, std::ios::binary) << *model;
  expect(log_of_load(), "model cache: hit");
  // Another weight in the middle of a large tensor, where the key does not look.
  std::string changed = *model;
  const auto at = changed.rfind("table");
  ASSERT_NE(at, std::string::npos);
  changed[at + 1000] = static_cast<char>(changed[at + 1000] ^ 1);
  std::ofstream(model_, std::ios::binary | std::ios::trunc) << changed;
  want_[0].clear(), want_[1].clear();
  expect(log_of_load(), "stale");
  expect(log_of_load(), "model cache: hit");
}

TEST_F(ModelCache, OldEntriesGo) {
  (void)log_of_load();
  const std::string first = entry();
  auto size = os::file_identity(first);
  ASSERT_TRUE(size.ok());
  Options o;
  o.config["session.cache_max_bytes"] = std::to_string(size->size * 3 / 2);
  o.optimization_level = OptimizationLevel::basic;
  std::ofstream(folder_ + "/note.txt") << "not an entry";
  want_[0].clear(), want_[1].clear();
  expect(log_of_load(o), "model cache: removed");
  EXPECT_EQ(entries(), 1u);
  EXPECT_NE(entry(), first);
  EXPECT_EQ(os::file_kind(folder_ + "/note.txt"), os::FileKind::regular);
  o.config["session.cache_max_bytes"] = "100";
  o.optimization_level = OptimizationLevel::extended;
  want_[0].clear(), want_[1].clear();
  expect(log_of_load(o), "not written");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(ModelCache, TwoProcessesAtOnce) {
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      Options o;
      o.intra_op_threads = 1;
      o.config["session.cache_dir"] = folder_;
      bool ok = true;
      for (int k = 0; k < 5 && ok; ++k) {
        if (k % 2 == 1) (void)os::remove_file(entry());
        auto s = Session::load({}, {model_, {}, nullptr}, o);
        ok = s.ok() && run(**s, {floats({1, 3, 6, 5}), ints({1}, {3}), floats({3, 1, 16})}).ok();
      }
      ::_exit(ok ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 1;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  expect(log_of_load(), "model cache: ");
  expect(log_of_load(), "model cache: hit");
  for (const auto& e : files()) EXPECT_EQ(e.name.find(".tmp."), std::string::npos) << e.name;
}

// Packed operands of equal content are one in a process, and go with the last session.
TEST_F(ModelCache, SessionsShare) {
  Environment env;
  env.packs = std::make_shared<PackStore>();
  const auto load = [&](const std::string& path) {
    auto s = Session::load(env, {path, {}, nullptr}, {});
    EXPECT_TRUE(s.ok()) << s.status().message();
    return s.ok() ? std::move(s).value() : nullptr;
  };
  ASSERT_TRUE(save(R"(<opset: "" 17>
net(float[N,128] x) => (float[N,128] y) {
  float[128,128] w = random(1)
  float[128,128] v = random(2)
  m = MatMul(x, w)
  y = MatMul(m, v)
})")
                  .ok());
  auto a = load(model_);
  EXPECT_EQ(env.packs->size(), 2u);
  auto b = load(model_);
  EXPECT_EQ(env.packs->size(), 2u);
  const std::string copy = model_ + ".copy";
  std::ofstream(copy, std::ios::binary) << *os::read_file(model_, size_t{1} << 30);
  auto c = load(copy);
  EXPECT_EQ(env.packs->size(), 2u);
  ASSERT_TRUE(a && b && c);
  const auto x = floats({3, 128}, -1, .01f);
  const auto first = floats_of((*run(*a, {x}))[0]);
  a.reset();
  EXPECT_EQ(env.packs->size(), 2u);
  EXPECT_EQ(floats_of((*run(*b, {x}))[0]), first);
  EXPECT_EQ(floats_of((*run(*c, {x}))[0]), first);
  b.reset(), c.reset();
  EXPECT_EQ(env.packs->size(), 0u);
}

}  // namespace
}  // namespace trunnion::session::test
