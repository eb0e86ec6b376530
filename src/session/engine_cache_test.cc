// The store of engines without a plugin: what goes in comes out, under its key alone. tests/abi/engine_cache_test.cc
// has the rest.
#include "session/engine_cache.h"

#include <gtest/gtest.h>

#include "base/os.h"

namespace trunnion::session::test {
namespace {

struct Lines : LogSink {
  void write(const LogRecord& r) override { text += std::string(r.text) + "\n"; }
  std::string text;
};

struct EngineStore : testing::Test {
  std::string folder = testing::TempDir() + "trunnion_store_" + std::to_string(os::process_id());
  std::shared_ptr<Lines> lines = std::make_shared<Lines>();
  Options options;

  void SetUp() override { options.config["session.cache_dir"] = folder; }
  void TearDown() override { (void)os::remove_folder(folder); }
  std::unique_ptr<EngineCache> cache() { return EngineCache::of(options, Logger(lines, Severity::info)); }
  static EngineKey key(const std::string& engine) {
    return {{1, 2}, {{"the version of this engine", engine}, {"the device", "CPU"}}};
  }
  static Engine engine() {
    ep::ContextNode node{"EPContext", "com.microsoft", "n", {"x", ""}, {"y"}, {}};
    node.attrs = {{"data", std::string(100'000, 'd'), ""},
                  {"main_context", int64_t{1}, ""},
                  {"scale", 0.5f, ""},
                  {"sizes", ir::Attr::Ints{1, 2, 3}, ""},
                  {"parts", ir::Attr::Floats{.25f}, ""},
                  {"names", ir::Attr::Strings{"a", std::string(5000, 'b')}, ""}};
    return {{node, node}, {{"part.bin", std::string(3000, '\0')}}, "fits"};
  }
};

TEST_F(EngineStore, GivesBackWhatItGot) {
  const auto c = cache();
  ASSERT_TRUE(c);
  const Engine want = engine();
  ASSERT_TRUE(c->store(key("1"), want).ok());
  const auto got = c->find(key("1"));
  ASSERT_TRUE(got.ok()) << got.status().message();
  ASSERT_EQ(got->nodes.size(), 2u);
  for (const ep::ContextNode& n : got->nodes) {
    EXPECT_EQ(n.op_type + n.domain + n.name, "EPContextcom.microsoftn");
    EXPECT_EQ(n.inputs, want.nodes[0].inputs);
    EXPECT_EQ(n.outputs, want.nodes[0].outputs);
    ASSERT_EQ(n.attrs.size(), want.nodes[0].attrs.size());
    for (size_t i = 0; i < n.attrs.size(); ++i) {
      EXPECT_EQ(n.attrs[i].name, want.nodes[0].attrs[i].name);
      EXPECT_EQ(n.attrs[i].type(), want.nodes[0].attrs[i].type());
    }
    EXPECT_EQ(*n.attrs[0].get<std::string>(), std::string(100'000, 'd'));
    EXPECT_EQ(*n.attrs[3].get<ir::Attr::Ints>(), (ir::Attr::Ints{1, 2, 3}));
    EXPECT_EQ(n.attrs[5].get<ir::Attr::Strings>()->back(), std::string(5000, 'b'));
  }
  ASSERT_EQ(got->files.size(), 1u);
  EXPECT_EQ(got->files[0].name, "part.bin");
  EXPECT_EQ(got->files[0].content, want.files[0].content);
  EXPECT_EQ(got->compatibility, "fits");
}

TEST_F(EngineStore, AnotherEngineVersion) {
  const auto c = cache();
  ASSERT_TRUE(c->store(key("1"), engine()).ok());
  EXPECT_EQ(c->find(key("2")).status().code(), Code::no_such_file);
  EXPECT_EQ(c->nearest(key("2")), "the version of this engine is '1' there, '2' here");
  EXPECT_EQ(c->nearest(key("1")), "");
}

TEST_F(EngineStore, AttributesThatNoFileHolds) {
  Engine e = engine();
  e.nodes[0].attrs.push_back({"graph", std::make_shared<ir::Graph>(), ""});
  EXPECT_EQ(cache()->store(key("1"), e).message(), "the attribute 'graph' of its node is neither numbers nor text");
  EXPECT_TRUE(os::list_folder(folder).ok() ? os::list_folder(folder)->empty() : true);
}

TEST_F(EngineStore, OneMakesIt) {
  const auto c = cache();
  options.config["session.cache_wait_seconds"] = "0";
  const auto impatient = cache();
  {
    const auto first = c->wait(key("1"));
    EXPECT_TRUE(first.lock);
    EXPECT_FALSE(first.waited);
    const auto second = impatient->wait(key("1"));
    EXPECT_FALSE(second.lock);
    EXPECT_TRUE(second.waited);
    EXPECT_TRUE(impatient->wait(key("2")).lock);
  }
  EXPECT_TRUE(impatient->wait(key("1")).lock);
  EXPECT_TRUE(os::list_folder(folder)->empty());  // locks go with their holders
}

TEST_F(EngineStore, WhatProcessesLeaveBehindGoes) {
  const auto c = cache();
  const auto alive = EngineFolder::make(c->folder());
  ASSERT_TRUE(alive.ok());
  ASSERT_TRUE(os::make_folder(folder + "/1.0.files").ok());
  ASSERT_TRUE(os::write_file_atomically(folder + "/1.0.files/part.bin", {}).ok());
  ASSERT_TRUE(os::write_file_atomically(folder + "/1.0.files.lock", {}).ok());
  ASSERT_TRUE(c->store(key("1"), engine()).ok());
  EXPECT_EQ(os::list_subfolders(folder)->size(), 1u);
  EXPECT_EQ(os::file_kind((*alive)->path()), os::FileKind::directory);
}

}  // namespace
}  // namespace trunnion::session::test
