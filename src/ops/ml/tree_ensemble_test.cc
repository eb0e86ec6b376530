#include <cmath>

#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Strings = std::vector<std::string>;

// One tree: x0 <mode> 0 ? leaf 1 : leaf 2, with votes (node, target, weight).
struct Vote {
  int64_t node, target;
  float weight;
};
std::vector<ir::Attr> stump(const std::string& prefix, const std::vector<Vote>& votes,
                            const std::string& mode = "BRANCH_LEQ", int64_t missing = 0, float value = 0) {
  Ints trees(votes.size(), 0), nodes, targets;
  Floats weights;
  for (const Vote& v : votes) nodes.push_back(v.node), targets.push_back(v.target), weights.push_back(v.weight);
  return {{"nodes_treeids", Ints{0, 0, 0}},
          {"nodes_nodeids", Ints{0, 1, 2}},
          {"nodes_featureids", Ints{0, 0, 0}},
          {"nodes_values", Floats{value, 0, 0}},
          {"nodes_modes", Strings{mode, "LEAF", "LEAF"}},
          {"nodes_truenodeids", Ints{1, 0, 0}},
          {"nodes_falsenodeids", Ints{2, 0, 0}},
          {"nodes_missing_value_tracks_true", Ints{missing, 0, 0}},
          {prefix + "_treeids", trees},
          {prefix + "_nodeids", nodes},
          {prefix + "_ids", targets},
          {prefix + "_weights", weights}};
}

OpRun regressor(std::vector<ir::Attr> attrs, Tensor x) {
  return {.op = "TreeEnsembleRegressor", .opset = 3, .inputs = {x}, .attrs = std::move(attrs), .domain = "ai.onnx.ml"};
}

TEST(TreeEnsembleRegressor, ModesAndMissingValues) {
  const float inf = INFINITY;
  const std::vector<float> xs{-1, -0.0f, 0, 1, NAN, inf, -inf, 1e-45f};
  const struct {
    const char* mode;
    bool (*holds)(float x, float t);
  } modes[] = {
      {"BRANCH_LEQ", [](float x, float t) { return x <= t; }}, {"BRANCH_LT", [](float x, float t) { return x < t; }},
      {"BRANCH_GTE", [](float x, float t) { return x >= t; }}, {"BRANCH_GT", [](float x, float t) { return x > t; }},
      {"BRANCH_EQ", [](float x, float t) { return x == t; }},  {"BRANCH_NEQ", [](float x, float t) { return x != t; }}};
  for (const auto& m : modes)
    for (const int64_t missing : {0, 1})
      for (const float t : {0.0f, -0.0f, 1.0f, inf, -inf, NAN}) {
        Floats want;
        for (float x : xs) want.push_back(m.holds(x, t) || (missing && std::isnan(x)) ? 1.0f : 2.0f);
        for (const int64_t copies : {1, 3}) {  // few rows and many
          Floats data, expected;
          for (int64_t c = 0; c < copies; ++c)
            data.insert(data.end(), xs.begin(), xs.end()), expected.insert(expected.end(), want.begin(), want.end());
          const auto attrs = stump("target", {{1, 0, 1}, {2, 0, 2}}, m.mode, missing, t);
          EXPECT_EQ(values<float>(output(regressor(attrs, tensor<float>({8 * copies, 1}, data)))), expected)
              << m.mode << " " << t << " missing " << missing;
          std::vector<double> wide(data.begin(), data.end());
          EXPECT_EQ(values<float>(output(regressor(attrs, tensor<double>({8 * copies, 1}, wide)))), expected);
        }
      }
}

TEST(TreeEnsembleRegressor, TargetsBaseValuesAndAggregates) {
  auto attrs = stump("target", {{1, 0, 2}, {1, 1, -4}, {2, 1, 8}});
  attrs.push_back({"n_targets", int64_t{2}});
  const Tensor x = tensor<float>({3, 1}, {-1, 1, 0});
  EXPECT_EQ(values<float>(output(regressor(attrs, x))), (Floats{2, -4, 0, 8, 2, -4}));
  attrs.push_back({"base_values", Floats{10, 20}});
  EXPECT_EQ(values<float>(output(regressor(attrs, x))), (Floats{12, 16, 10, 28, 12, 16}));
  // Integers are compared as floats.
  EXPECT_EQ(values<float>(output(regressor(attrs, tensor<int64_t>({3, 1}, {-1, 1, 0})))),
            (Floats{12, 16, 10, 28, 12, 16}));

  // Votes for one target add up, but with a single target the first one of a leaf is its value.
  attrs = stump("target", {{1, 0, 2}, {1, 0, 2}, {2, 1, 8}, {2, 1, 1}});
  attrs.push_back({"n_targets", int64_t{2}});
  EXPECT_EQ(values<float>(output(regressor(attrs, x))), (Floats{4, 0, 0, 9, 4, 0}));
  EXPECT_EQ(values<float>(output(regressor(stump("target", {{1, 0, 3}, {1, 0, 3}, {2, 0, 4}, {2, 0, 7}}), x))),
            (Floats{3, 4, 3}));

  std::vector<ir::Attr> two{{"nodes_treeids", Ints{0, 1}},
                            {"nodes_nodeids", Ints{0, 0}},
                            {"nodes_featureids", Ints{0, 0}},
                            {"nodes_values", Floats{0, 0}},
                            {"nodes_modes", Strings{"LEAF", "LEAF"}},
                            {"nodes_truenodeids", Ints{0, 0}},
                            {"nodes_falsenodeids", Ints{0, 0}},
                            {"target_treeids", Ints{0, 1}},
                            {"target_nodeids", Ints{0, 0}},
                            {"target_ids", Ints{0, 0}},
                            {"target_weights", Floats{3, -5}}};
  const std::pair<const char*, float> cases[] = {{"SUM", -2}, {"AVERAGE", -1}, {"MIN", -5}, {"MAX", 3}};
  for (const auto& [name, want] : cases) {
    auto a = two;
    a.push_back({"aggregate_function", std::string(name)});
    EXPECT_EQ(values<float>(output(regressor(a, tensor<float>({1, 1}, {0})))), (Floats{want})) << name;
  }
  EXPECT_EQ(output(regressor(two, tensor<float>({0, 4}, {}))).tensor().count(), 0);
}

TEST(TreeEnsembleRegressor, DoubleThresholds) {
  auto attrs = stump("target", {{1, 0, 1}, {2, 0, 2}});
  attrs.erase(attrs.begin() + 3);
  attrs.push_back({"nodes_values_as_tensor", tensor<double>({3}, {0.1, 0, 0})});
  // 0.1f is larger than 0.1.
  EXPECT_EQ(values<float>(output(regressor(attrs, tensor<float>({2, 1}, {0.1f, std::nextafter(0.1f, 0.0f)})))),
            (Floats{2, 1}));
  EXPECT_EQ(values<float>(output(regressor(attrs, tensor<double>({2, 1}, {0.1, 0.1000001})))), (Floats{1, 2}));
}

TEST(TreeEnsembleRegressor, RefusesBrokenTrees) {
  auto attrs = stump("target", {{1, 0, 1}});
  std::get<Ints>(attrs[5].data)[0] = 7;
  EXPECT_NE(failure(regressor(attrs, tensor<float>({1, 1}, {0}))).find("children 7 and 2"), std::string::npos);
  attrs = stump("target", {{1, 0, 1}});
  attrs[4].data = Strings{"BRANCH_LEQ", "BRANCH_LEQ", "LEAF"};  // node 1 leads back to the root
  EXPECT_NE(failure(regressor(attrs, tensor<float>({1, 1}, {0}))).find("no root"), std::string::npos);
  attrs = stump("target", {{1, 0, 1}});
  std::get<Ints>(attrs[2].data)[0] = 3;
  EXPECT_NE(failure(regressor(attrs, tensor<float>({1, 3}, {0, 0, 0}))).find("feature 3"), std::string::npos);
  attrs = stump("target", {{1, 1, 1}});
  EXPECT_NE(failure(regressor(attrs, tensor<float>({1, 1}, {0}))).find("target 1"), std::string::npos);
}

std::pair<Ints, Floats> classify(std::vector<Vote> votes, Ints labels, std::vector<ir::Attr> more = {}) {
  auto attrs = stump("class", votes);
  attrs.push_back({"classlabels_int64s", std::move(labels)});
  attrs.insert(attrs.end(), more.begin(), more.end());
  const auto r = outputs({.op = "TreeEnsembleClassifier",
                          .opset = 3,
                          .inputs = {tensor<float>({2, 1}, {-1, 1})},
                          .attrs = attrs,
                          .outputs = 2,
                          .domain = "ai.onnx.ml"});
  return {values<int64_t>(r[0]), values<float>(r[1])};
}
void expect_near(const Floats& have, const Floats& want) {
  ASSERT_EQ(have.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(have[i], want[i], 1e-6) << i;
}

TEST(TreeEnsembleClassifier, TwoClassesVotesForOne) {
  auto r = classify({{1, 0, 0.2f}, {2, 0, 0.7f}}, {5, 7});
  EXPECT_EQ(r.first, (Ints{5, 7}));
  expect_near(r.second, {0.8f, 0.2f, 0.3f, 0.7f});
  r = classify({{1, 0, -0.2f}, {2, 0, 0.7f}}, {5, 7});
  EXPECT_EQ(r.first, (Ints{5, 7}));
  expect_near(r.second, {0.2f, -0.2f, -0.7f, 0.7f});
  r = classify({{1, 0, -0.2f}, {2, 0, 0.7f}}, {5, 7},
               {{"post_transform", std::string("LOGISTIC")}, {"base_values", Floats{0.1f}}});
  EXPECT_EQ(r.first, (Ints{5, 7}));
  expect_near(r.second, {0.52497917f, 0.47502083f, 0.31002551f, 0.68997448f});
  r = classify({{1, 1, 0.2f}, {2, 1, 0.7f}}, {5, 7}, {{"post_transform", std::string("LOGISTIC")}});
  EXPECT_EQ(r.first, (Ints{5, 7}));
  expect_near(r.second, {0.5f, 0.54983395f, 0.5f, 0.66818774f});
}

TEST(TreeEnsembleClassifier, MoreClasses) {
  auto r = classify({{1, 0, 0.2f}, {1, 1, 0.8f}, {2, 0, 0.7f}, {2, 1, 0.3f}}, {5, 7});
  EXPECT_EQ(r.first, (Ints{7, 5}));
  expect_near(r.second, {0.2f, 0.8f, 0.7f, 0.3f});
  r = classify({{1, 0, -0.2f}, {2, 2, -0.3f}}, {5, 7, 9}, {{"post_transform", std::string("SOFTMAX")}});
  EXPECT_EQ(r.first, (Ints{5, 9}));
  expect_near(r.second, {0.2904608f, 0.3547696f, 0.3547696f, 0.36485454f, 0.36485454f, 0.2702909f});
  r = classify({{1, 0, 0.2f}, {2, 1, 0.3f}}, {5, 7, 9},
               {{"post_transform", std::string("SOFTMAX_ZERO")}, {"base_values", Floats{0.5f, 0, 0.1f}}});
  EXPECT_EQ(r.first, (Ints{5, 5}));
  expect_near(r.second, {0.6456563f, 0, 0.3543437f, 0.40175957f, 0.32893291f, 0.26930749f});
}

TEST(TreeEnsembleClassifier, StringLabels) {
  auto attrs = stump("class", {{1, 0, 1}, {2, 1, 1}, {1, 2, 0}});
  attrs.push_back({"classlabels_strings", Strings{"a", "b", "c"}});
  for (const int opset : {1, 3, 5}) {  // deprecated in the last, and exporters write it all the same
    const auto r = outputs({.op = "TreeEnsembleClassifier",
                            .opset = opset,
                            .inputs = {tensor<double>({2, 1}, {-1, 1})},
                            .attrs = attrs,
                            .outputs = 2,
                            .domain = "ai.onnx.ml"});
    EXPECT_EQ(texts(r[0]), (Strings{"a", "b"}));
    EXPECT_EQ(values<float>(r[1]), (Floats{1, 0, 0, 0, 1, 0}));
  }
}

TEST(TreeEnsemble, MembershipAndMissing) {
  // x0 in {1.2, 3.7, 8} ? leaf 0 : (x0 in {7} ? leaf 1 : leaf 2)
  const std::vector<ir::Attr> attrs{{"nodes_modes", tensor<uint8_t>({2}, {6, 6})},
                                    {"nodes_splits", tensor<float>({2}, {NAN, NAN})},
                                    {"nodes_featureids", Ints{0, 0}},
                                    {"nodes_trueleafs", Ints{1, 1}},
                                    {"nodes_falseleafs", Ints{0, 1}},
                                    {"nodes_truenodeids", Ints{0, 1}},
                                    {"nodes_falsenodeids", Ints{1, 2}},
                                    {"nodes_missing_value_tracks_true", Ints{0, 1}},
                                    {"leaf_targetids", Ints{0, 1, 2}},
                                    {"leaf_weights", tensor<float>({3}, {10, 20, 30})},
                                    {"membership_values", tensor<float>({6}, {1.2f, 3.7f, 8, NAN, 7, NAN})},
                                    {"tree_roots", Ints{0}},
                                    {"n_targets", int64_t{3}}};
  OpRun r{.op = "TreeEnsemble",
          .opset = 5,
          .inputs = {tensor<float>({6, 1}, {1.2f, 3.4f, 8, 7, NAN, 3.7f})},
          .attrs = attrs,
          .domain = "ai.onnx.ml"};
  const Floats want{10, 0, 0, 0, 0, 30, 10, 0, 0, 0, 20, 0, 0, 20, 0, 10, 0, 0};
  EXPECT_EQ(values<float>(output(r)), want);
  r.inputs = {half({2, 1}, {8, 9})};
  EXPECT_EQ(widened(output(r)), (Floats{10, 0, 0, 0, 0, 30}));
  // The last set may lack its NaN, but no set may lack altogether.
  r.inputs = {tensor<float>({2, 1}, {8, 7})};
  const auto with_members = [&](std::vector<float> v) {
    for (ir::Attr& a : r.attrs)
      if (a.name == "membership_values") a.data = tensor<float>({static_cast<int64_t>(v.size())}, v);
    return r;
  };
  EXPECT_EQ(values<float>(output(with_members({1.2f, 3.7f, 8, NAN, 7}))), (Floats{10, 0, 0, 0, 20, 0}));
  EXPECT_NE(failure(with_members({1.2f, 3.7f, 8, NAN})).find("fewer sets"), std::string::npos);
  EXPECT_NE(failure(with_members({1.2f, 3.7f, 8})).find("fewer sets"), std::string::npos);
}

TEST(TreeEnsemble, SharedAndCircular) {
  const auto with = [](Ints yes, Ints no) {
    return OpRun{.op = "TreeEnsemble",
                 .opset = 5,
                 .inputs = {tensor<double>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1})},
                 .attrs = {{"nodes_modes", tensor<uint8_t>({3}, {0, 0, 0})},
                           {"nodes_splits", tensor<double>({3}, {0.5, 0.5, 0.5})},
                           {"nodes_featureids", Ints{0, 1, 1}},
                           {"nodes_trueleafs", Ints{0, 1, 1}},
                           {"nodes_falseleafs", Ints{0, 1, 0}},
                           {"nodes_truenodeids", yes},
                           {"nodes_falsenodeids", no},
                           {"leaf_targetids", Ints{0, 0}},
                           {"leaf_weights", tensor<double>({2}, {1, 2})},
                           {"tree_roots", Ints{0}},
                           {"n_targets", int64_t{1}}},
                 .domain = "ai.onnx.ml"};
  };
  EXPECT_EQ(values<double>(output(with({1, 0, 0}, {1, 1, 1}))),
            (std::vector<double>{1, 2, 1, 2}));  // both ways lead to node 1
  EXPECT_NE(failure(with({1, 0, 0}, {2, 1, 0})).find("circle"), std::string::npos);
}

TEST(TreeEnsemble, ManyTreesAndRows) {
  // 130 stumps on 3 features; the sum in the order of the trees.
  Ints trees, nodes, features, yes, no, vote_trees, vote_nodes, ids;
  Floats splits, weights;
  Strings modes;
  for (int64_t t = 0; t < 130; ++t)
    for (int64_t k = 0; k < 3; ++k) {
      trees.push_back(t), nodes.push_back(k), features.push_back(k == 0 ? t % 3 : 0), yes.push_back(k == 0 ? 1 : 0),
          no.push_back(k == 0 ? 2 : 0);
      splits.push_back(static_cast<float>(t % 11) / 10), modes.push_back(k == 0 ? "BRANCH_LEQ" : "LEAF");
      if (k)
        vote_trees.push_back(t), vote_nodes.push_back(k), ids.push_back(0),
            weights.push_back(static_cast<float>(t * k) * 0.37f);
    }
  const int64_t rows = 300;
  Floats x, want;
  for (int64_t i = 0; i < rows * 3; ++i) x.push_back(static_cast<float>(i * 7 % 101) / 100);
  for (int64_t r = 0; r < rows; ++r) {
    float sum = 0;
    for (int64_t t = 0; t < 130; ++t)
      sum += weights[static_cast<size_t>(
          2 * t + (x[static_cast<size_t>(r * 3 + t % 3)] <= static_cast<float>(t % 11) / 10 ? 0 : 1))];
    want.push_back(sum);
  }
  const std::vector<ir::Attr> attrs{
      {"nodes_treeids", trees},   {"nodes_nodeids", nodes},       {"nodes_featureids", features},
      {"nodes_values", splits},   {"nodes_modes", modes},         {"nodes_truenodeids", yes},
      {"nodes_falsenodeids", no}, {"target_treeids", vote_trees}, {"target_nodeids", vote_nodes},
      {"target_ids", ids},        {"target_weights", weights}};
  EXPECT_EQ(values<float>(output(regressor(attrs, tensor<float>({rows, 3}, x)))), want);
  EXPECT_EQ(values<float>(output(regressor(attrs, tensor<float>({2, 3}, {x.begin(), x.begin() + 6})))),
            (Floats{want[0], want[1]}));
}

}  // namespace
}  // namespace trunnion::ops::test
