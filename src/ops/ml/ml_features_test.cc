#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Strings = std::vector<std::string>;

OpRun ml(std::string op, std::vector<Value> inputs, std::vector<ir::Attr> attrs, int opset = 1) {
  return {.op = std::move(op),
          .opset = opset,
          .inputs = std::move(inputs),
          .attrs = std::move(attrs),
          .domain = "ai.onnx.ml"};
}

TEST(Features, BinarizerScalerImputer) {
  EXPECT_EQ(values<float>(output(ml("Binarizer", {tensor<float>({3}, {0.5f, 1, 1.5f})}, {{"threshold", 1.0f}}))),
            (Floats{0, 0, 1}));
  EXPECT_EQ(values<int64_t>(output(ml("Binarizer", {tensor<int64_t>({3}, {-1, 0, 5})}, {}))), (Ints{0, 0, 1}));
  EXPECT_EQ(values<float>(output(ml("Scaler", {tensor<int32_t>({2, 2}, {1, 2, 3, 4})},
                                    {{"offset", Floats{1, 2}}, {"scale", Floats{10}}}))),
            (Floats{0, 0, 20, 20}));
  EXPECT_NE(failure(ml("Scaler", {tensor<float>({1, 3}, {1, 2, 3})}, {{"offset", Floats{1, 2}}})).find("2 entries"),
            std::string::npos);
  EXPECT_EQ(values<float>(output(ml("Imputer", {tensor<float>({2, 2}, {NAN, 1, 2, NAN})},
                                    {{"imputed_value_floats", Floats{10, 20}}, {"replaced_value_float", NAN}}))),
            (Floats{10, 1, 2, 20}));
  EXPECT_EQ(values<int64_t>(output(ml("Imputer", {tensor<int64_t>({3}, {-1, 0, -1})},
                                      {{"imputed_value_int64s", Ints{7}}, {"replaced_value_int64", int64_t{-1}}}))),
            (Ints{7, 0, 7}));
}

TEST(Features, NormalizerAndVectorizer) {
  const Tensor x = tensor<float>({2, 2}, {3, -4, 0, 0});
  EXPECT_EQ(values<float>(output(ml("Normalizer", {x}, {{"norm", std::string("MAX")}}))), (Floats{1, -4.0f / 3, 0, 0}));
  EXPECT_EQ(values<float>(output(ml("Normalizer", {x}, {{"norm", std::string("L1")}}))),
            (Floats{3.0f / 7, -4.0f / 7, 0, 0}));
  EXPECT_EQ(values<float>(output(ml("Normalizer", {x}, {{"norm", std::string("L2")}}))), (Floats{0.6f, -0.8f, 0, 0}));
  const auto y = output(ml("FeatureVectorizer", {tensor<float>({2, 2}, {1, 2, 3, 4}), tensor<float>({2, 1}, {5, 6})},
                           {{"inputdimensions", Ints{1, 2}}}));
  EXPECT_EQ(values<float>(y), (Floats{1, 5, 0, 3, 6, 0}));
}

TEST(LabelEncoder, AllVersions) {
  EXPECT_EQ(values<int64_t>(
                output(ml("LabelEncoder", {strings({3}, {"b", "a", "z"})}, {{"classes_strings", Strings{"a", "b"}}}))),
            (Ints{1, 0, -1}));
  EXPECT_EQ(
      texts(output(ml("LabelEncoder", {tensor<int64_t>({3}, {1, 0, 9})}, {{"classes_strings", Strings{"a", "b"}}}))),
      (Strings{"b", "a", "_Unused"}));
  EXPECT_EQ(values<float>(output(ml("LabelEncoder", {tensor<int64_t>({3}, {5, 6, 7})},
                                    {{"keys_int64s", Ints{5, 6}}, {"values_floats", Floats{0.5f, 0.25f}}}, 2))),
            (Floats{0.5f, 0.25f, -0.0f}));
  EXPECT_EQ(texts(output(ml("LabelEncoder", {tensor<float>({4}, {NAN, 1, 0, 2})},
                            {{"keys_floats", Floats{NAN, 1, -0.0f}},
                             {"values_strings", Strings{"nan", "one", "zero"}},
                             {"default_string", std::string("?")}},
                            4))),
            (Strings{"nan", "one", "zero", "?"}));
  const auto y = output(ml("LabelEncoder", {strings({2, 1}, {"a", "x"})},
                           {{"keys_tensor", strings({2}, {"a", "a"})},
                            {"values_tensor", tensor<int16_t>({2}, {1, 2})},
                            {"default_tensor", tensor<int16_t>({1}, {42})}},
                           4));
  EXPECT_EQ(values<int16_t>(y), (std::vector<int16_t>{2, 42}));  // the last of equal keys counts
  EXPECT_NE(
      failure(ml("LabelEncoder", {strings({1}, {"a"})}, {{"keys_int64s", Ints{5}}, {"values_floats", Floats{1}}}, 2))
          .find("keys have type int64"),
      std::string::npos);
  EXPECT_EQ(values<int64_t>(output(ml("CategoryMapper", {strings({2}, {"cat", "?"})},
                                      {{"cats_int64s", Ints{30, 40}}, {"cats_strings", Strings{"dog", "cat"}}}))),
            (Ints{40, -1}));
}

TEST(OneHotEncoder, CategoriesAndMisses) {
  EXPECT_EQ(
      values<float>(output(ml("OneHotEncoder", {tensor<float>({3}, {2.9f, 5, 7})}, {{"cats_int64s", Ints{5, 2}}}))),
      (Floats{0, 1, 1, 0, 0, 0}));
  const auto y = output(ml("OneHotEncoder", {strings({1, 2}, {"b", "a"})}, {{"cats_strings", Strings{"a", "b", "c"}}}));
  EXPECT_EQ(shape(y), (Ints{1, 2, 3}));
  EXPECT_EQ(values<float>(y), (Floats{0, 1, 0, 1, 0, 0}));
  EXPECT_NE(
      failure(ml("OneHotEncoder", {tensor<int64_t>({2}, {5, 7})}, {{"cats_int64s", Ints{5, 2}}, {"zeros", int64_t{0}}}))
          .find("element 1"),
      std::string::npos);
}

TEST(ArrayFeatureExtractor, PicksColumns) {
  const auto y = output(
      ml("ArrayFeatureExtractor", {tensor<float>({2, 3}, {0, 1, 2, 10, 11, 12}), tensor<int64_t>({2}, {2, 0})}, {}));
  EXPECT_EQ(values<float>(y), (Floats{2, 0, 12, 10}));
  EXPECT_EQ(
      shape(output(ml("ArrayFeatureExtractor", {tensor<float>({3}, {0, 1, 2}), tensor<int64_t>({2}, {2, 0})}, {}))),
      (Ints{1, 2}));
  EXPECT_NE(failure(ml("ArrayFeatureExtractor", {tensor<float>({1, 3}, {0, 1, 2}), tensor<int64_t>({1}, {3})}, {}))
                .find("index 3"),
            std::string::npos);
}

TEST(Maps, ZipCastVectorize) {
  auto r = run(ml("ZipMap", {tensor<float>({2, 2}, {1, 2, 3, 4})}, {{"classlabels_strings", Strings{"a", "b"}}}));
  ASSERT_TRUE(r.ok()) << r.status().message();
  const Sequence& s = (*r)[0].sequence();
  ASSERT_EQ(s.items.size(), 2u);
  EXPECT_EQ(s.element.text(), "map(string,tensor(float))");
  EXPECT_EQ(s.items[1].map().keys.data<std::string>()[0], "a");
  EXPECT_EQ(s.items[1].map().values.data<float>()[1], 4);
  EXPECT_FALSE(run(ml("ZipMap", {tensor<float>({1, 3}, {1, 2, 3})}, {{"classlabels_int64s", Ints{1, 2}}})).ok());
  // Maps are in the order of their keys; of equal labels the first counts.
  r = run(ml("ZipMap", {tensor<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})}, {{"classlabels_int64s", Ints{9, -1, 4, 9}}}));
  ASSERT_TRUE(r.ok()) << r.status().message();
  const Map& second = (*r)[0].sequence().items[1].map();
  EXPECT_EQ(values<int64_t>(Value(second.keys)), (Ints{-1, 4, 9}));
  EXPECT_EQ(values<float>(Value(second.values)), (Floats{6, 7, 5}));

  const Value map(Map{tensor<int64_t>({2}, {3, 1}), tensor<float>({2}, {0.5f, 7})});
  EXPECT_EQ(values<float>(output(ml("CastMap", {map}, {}))), (Floats{7, 0.5f}));
  EXPECT_EQ(values<int64_t>(output(ml(
                "CastMap", {map},
                {{"cast_to", std::string("TO_INT64")}, {"map_form", std::string("SPARSE")}, {"max_map", int64_t{5}}}))),
            (Ints{0, 7, 0, 0, 0}));
  EXPECT_EQ(values<float>(output(ml("DictVectorizer", {map}, {{"int64_vocabulary", Ints{1, 2, 3}}}))),
            (Floats{7, 0, 0.5f}));
}

}  // namespace
}  // namespace trunnion::ops::test
