// The model cache: entries that are used, and all the ways in which one is not.
#include "session/model_cache.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

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
  // So that the times of files tell what is written into them from now on.
  static void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(40)); }
  // y of a model of one input with 64 columns.
  std::vector<float> y(std::string_view want, ModelSource source) {
    auto sink = std::make_shared<Lines>();
    Options o;
    o.log_sink = sink;
    o.log_severity = 1;
    o.config["session.cache_dir"] = folder_;
    if (source.path.empty()) o.config["session.model_external_initializers_file_folder_path"] = folder_;
    auto s = Session::load({}, std::move(source), std::move(o));
    EXPECT_TRUE(s.ok()) << s.status().message();
    expect(sink->text, want);
    return s.ok() ? floats_of((*run(**s, {floats({1, 64})}))[0]) : std::vector<float>();
  }
  std::vector<float> y(std::string_view want) { return y(want, {model_, {}, nullptr}); }
  // y = x w, and w lies in data.bin; or y = x w v, and only v does.
  void save_with_data(bool inline_too = false) {
    ir::Model m;
    auto graph = ir::parse_graph(inline_too ? R"(<opset: "" 17>
net(float[N,64] x) => (float[N,512] y) {
  float[64,512] w = random(1)
  float[512,512] v = random(2)
  m = MatMul(x, w)
  y = MatMul(m, v)
})"
                                            : R"(<opset: "" 17>
net(float[N,64] x) => (float[N,64] y) {
  float[64,64] w = random(1)
  y = MatMul(x, w)
})");
    ASSERT_TRUE(graph.ok());
    m.graph = std::move(graph).value();
    m.ir_version = 10;
    m.opset_imports[""] = 17;
    const uint64_t least = inline_too ? 500'000 : 16;
    ASSERT_TRUE(onnx::export_model(m, model_, {.external_file = "data.bin", .external_threshold = least}).ok());
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

// A session whose model has not changed does not read it: what it tells of the model is the same.
TEST_F(ModelCache, TheModelIsNotRead) {
  const auto load = [&](const std::string& config = {}) {
    Options o;
    o.config["session.cache_dir"] = folder_;
    if (!config.empty()) o.config["precision.nodes"] = config;
    auto s = Session::load({}, {model_, {}, nullptr}, std::move(o));
    EXPECT_TRUE(s.ok()) << s.status().message();
    return s.ok() ? std::move(s).value() : nullptr;
  };
  const auto steps = [](const Session& s) {
    std::string names;
    for (const auto& t : s.load_timings()) names += t.stage + " ";
    return names;
  };
  settle();
  const auto first = load(), second = load();
  ASSERT_TRUE(first && second);
  EXPECT_NE(steps(*first).find("infer"), std::string::npos);
  EXPECT_EQ(steps(*second).find("infer"), std::string::npos);
  EXPECT_EQ(
      ports_bytes(
          {{first->inputs().begin(), first->inputs().end()}, {first->outputs().begin(), first->outputs().end()}, {}}),
      ports_bytes({{second->inputs().begin(), second->inputs().end()},
                   {second->outputs().begin(), second->outputs().end()},
                   {}}));
  EXPECT_EQ(first->model().graph->name, second->model().graph->name);
  EXPECT_EQ(first->model().opset_imports, second->model().opset_imports);
  EXPECT_EQ(first->model().path, second->model().path);
  // Whoever asks for the model itself gets what the file says.
  Options o;
  o.config["session.cache_dir"] = folder_;
  const auto model = Session::read_model({}, model_, o);
  ASSERT_TRUE(model.ok());
  EXPECT_EQ((*model)->graph->first()->op_type(), "Conv");
  EXPECT_EQ((*model)->graph->node_count(), 12);
  // Names in options are checked against the model: it is read for that.
  (void)load("c=strict");
  const auto named = load("c=strict");
  ASSERT_TRUE(named);
  EXPECT_NE(steps(*named).find("infer"), std::string::npos);
}

// Data beside the model: another file there is seen.
TEST_F(ModelCache, ExternalData) {
  save_with_data();
  settle();
  const auto before = y("model cache: written");
  EXPECT_EQ(y("model cache: hit"), before);
  const std::string data = folder_ + "/data.bin";
  std::string bytes = *os::read_file(data, size_t{1} << 20);
  bytes[5002] = static_cast<char>(bytes[5002] ^ 0x40);
  std::ofstream(data, std::ios::binary | std::ios::trunc) << bytes;
  const auto after = y("stale");
  EXPECT_NE(after, before);
  EXPECT_EQ(y("model cache: hit"), after);
}

// The data's name is a link, which leads to another file from then on; both files are as old as the entry.
TEST_F(ModelCache, ExternalDataBehindALink) {
  save_with_data();
  const std::string data = folder_ + "/data.bin";
  std::string bytes = *os::read_file(data, size_t{1} << 20);
  ASSERT_EQ(std::rename(data.c_str(), (folder_ + "/first.bin").c_str()), 0);
  ASSERT_EQ(::symlink("first.bin", data.c_str()), 0);
  bytes[5002] = static_cast<char>(bytes[5002] ^ 0x40);
  std::ofstream(folder_ + "/second.bin", std::ios::binary) << bytes;
  settle();
  const auto first = y("model cache: written");
  EXPECT_EQ(y("model cache: hit"), first);
  ASSERT_EQ(::unlink(data.c_str()), 0);
  ASSERT_EQ(::symlink("second.bin", data.c_str()), 0);
  const auto second = y("stale");
  EXPECT_NE(second, first);
  EXPECT_EQ(y("model cache: hit"), second);
  EXPECT_EQ(::unlink(data.c_str()), 0);
}

// A file that is written into is seen, however soon that is, and with its old time, too.
TEST_F(ModelCache, DataChangedInPlace) {
  const std::string data = folder_ + "/data.bin";
  for (const bool at_once : {true, false}) {
    save_with_data();
    if (!at_once) settle();
    const auto before = y("model cache: ");
    const auto time = std::filesystem::last_write_time(data);
    {
      std::fstream file(data, std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(5002).put('\x41');
    }
    std::filesystem::last_write_time(data, time);
    EXPECT_NE(y("stale"), before);
  }
}

// A model in memory, of which the key does not see all, with data in a file.
TEST_F(ModelCache, ModelInMemoryWithExternalData) {
  save_with_data(true);
  const auto source = [](std::string& bytes) {
    return ModelSource{{}, std::as_bytes(std::span(bytes.data(), bytes.size())), nullptr};
  };
  std::string bytes = *os::read_file(model_, size_t{1} << 20);
  settle();
  const auto before = y("model cache: written", source(bytes));
  EXPECT_EQ(y("model cache: hit", source(bytes)), before);
  char& byte = bytes[bytes.size() / 4 * 3];
  byte = static_cast<char>(byte ^ 0x40);
  EXPECT_NE(y("stale", source(bytes)), before);
}

// What is made of a forest is kept, and its lists are not; an image that is not whole is made anew.
TEST_F(ModelCache, Forests) {
  constexpr int64_t kTrees = 400;
  ir::Attr::Ints trees, ids, features, yes, no, vote_trees, vote_ids, targets;
  ir::Attr::Floats values, weights;
  ir::Attr::Strings modes;
  for (int64_t t = 0; t < kTrees; ++t)
    for (int64_t i = 0; i < 3; ++i) {
      trees.push_back(t), ids.push_back(i), features.push_back(t % 4), yes.push_back(i ? 0 : 1);
      no.push_back(i ? 0 : 2), values.push_back(static_cast<float>(t % 7)), modes.push_back(i ? "LEAF" : "BRANCH_LEQ");
      if (i)
        vote_trees.push_back(t), vote_ids.push_back(i), targets.push_back(0),
            weights.push_back(float(i) / float(t + 1));
    }
  ir::Model m;
  m.graph = std::make_unique<ir::Graph>();
  m.ir_version = 8;
  m.opset_imports = {{"", 17}, {"ai.onnx.ml", 3}};
  ir::Value* x[] = {m.graph->add_input("x", ir::Fact::tensor(DType::f32, SymShape{Dim::symbol("N"), Dim(4)}))};
  const std::string_view name = "y";
  ir::Node* n = m.graph->add_node("TreeEnsembleRegressor", "ai.onnx.ml", 3, x, std::span(&name, 1),
                                  {{"nodes_treeids", trees, {}},
                                   {"nodes_nodeids", ids, {}},
                                   {"nodes_featureids", features, {}},
                                   {"nodes_truenodeids", yes, {}},
                                   {"nodes_falsenodeids", no, {}},
                                   {"nodes_values", values, {}},
                                   {"nodes_modes", modes, {}},
                                   {"target_treeids", vote_trees, {}},
                                   {"target_nodeids", vote_ids, {}},
                                   {"target_ids", targets, {}},
                                   {"target_weights", weights, {}},
                                   {"base_values", ir::Attr::Floats{0.25f}, {}}});
  n->output(0)->fact = ir::Fact::tensor(DType::f32, SymShape{Dim::symbol("N"), Dim(1)});
  m.graph->add_output(n->output(0));
  ASSERT_TRUE(onnx::export_model(m, model_).ok());
  const auto y = [&](std::string_view first, std::string_view second) {
    auto sink = std::make_shared<Lines>();
    Options o;
    o.log_sink = sink;
    o.log_severity = 1;
    o.config["session.cache_dir"] = folder_;
    auto s = Session::load({}, {model_, {}, nullptr}, std::move(o));
    EXPECT_TRUE(s.ok()) << s.status().message();
    expect(sink->text, first);
    expect(sink->text, second);
    return s.ok() ? floats_of((*run(**s, {floats({3, 4}, -1, .6f)}))[0]) : std::vector<float>();
  };
  const auto want = y("model cache: miss", "model cache: written");
  EXPECT_EQ(y("model cache: hit", ""), want);
  auto whole = os::read_file(entry(), size_t{1} << 30);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->find("BRANCH_LEQ"), std::string::npos);
  for (const size_t at : {size_t{128}, size_t{160}, size_t{1000}}) {  // in the image, which no hash of the file covers
    std::string bad = *whole;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    std::ofstream(entry(), std::ios::binary | std::ios::trunc) << bad;
    EXPECT_EQ(y("not whole", "model cache: written"), want);
    EXPECT_EQ(y("model cache: hit", ""), want);
  }
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

// A file that was written into since a session packed its weights is another one, though its time of modification is
// not.
TEST_F(ModelCache, SessionsDoNotShareWhatWasWrittenInto) {
  Environment env;
  env.packs = std::make_shared<PackStore>();
  std::vector<std::unique_ptr<Session>> sessions;  // which keep what they have packed
  const auto load_and_run = [&] {
    auto s = Session::load(env, {model_, {}, nullptr}, {});
    EXPECT_TRUE(s.ok()) << s.status().message();
    if (!s.ok()) return std::vector<float>();
    sessions.push_back(std::move(s).value());
    return floats_of((*run(*sessions.back(), {floats({1, 64})}))[0]);
  };
  save_with_data();
  const std::string data = folder_ + "/data.bin";
  for (const bool at_once : {true, false}) {
    if (!at_once) settle();
    const auto before = load_and_run();
    const auto time = std::filesystem::last_write_time(data);
    std::fstream(data, std::ios::binary | std::ios::in | std::ios::out).seekp(5002).put(at_once ? '\x41' : '\x42');
    std::filesystem::last_write_time(data, time);
    EXPECT_NE(load_and_run(), before);
  }
}

}  // namespace
}  // namespace trunnion::session::test
