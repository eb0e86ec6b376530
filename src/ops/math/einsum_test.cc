#include <map>

#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

template <class T>
std::vector<T> sum(const char* equation, std::vector<Value> inputs) {
  return values<T>(output(
      {.op = "Einsum", .opset = 12, .inputs = std::move(inputs), .attrs = {{"equation", std::string(equation)}}}));
}
Tensor counting(std::initializer_list<int64_t> dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  std::vector<float> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(static_cast<float>(i % 7 - 3));
  return tensor<float>(dims, v);
}

TEST(Einsum, OneInput) {
  const Tensor x = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(sum<float>("ij->ji", {x}), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(sum<float>("ij->i", {x}), (Floats{6, 15}));
  EXPECT_EQ(sum<float>("ij->j", {x}), (Floats{5, 7, 9}));
  EXPECT_EQ(sum<float>("ij->", {x}), Floats{21});
  EXPECT_EQ(sum<float>("ba", {x}), (Floats{1, 4, 2, 5, 3, 6}));  // implicit output: ab
  EXPECT_EQ(sum<float>("...ii->...i", {tensor<float>({1, 2, 2}, {1, 2, 3, 4})}), (Floats{1, 4}));
  EXPECT_EQ(sum<float>("ii", {tensor<float>({2, 2}, {1, 2, 3, 4})}), Floats{5});
  EXPECT_EQ(sum<float>(" i j -> i j ", {x}), (Floats{1, 2, 3, 4, 5, 6}));
}

// Letters only, by the definition.
Floats definition(const std::string& equation, const std::vector<Tensor>& in, std::map<char, int64_t> size) {
  const size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow), right = equation.substr(arrow + 2);
  int64_t total = 1, outs = 1;
  for (const auto& [l, n] : size) total *= n;
  for (char l : right) outs *= size[l];
  Floats y(static_cast<size_t>(outs));
  for (int64_t i = 0; i < total; ++i) {
    std::map<char, int64_t> at;
    int64_t rest = i;
    for (const auto& [l, n] : size) at[l] = rest % n, rest /= n;
    float product = 1;
    size_t term = 0;
    int64_t offset = 0;
    for (char c : left + ",") {
      if (c == ',')
        product *= in[term++].data<float>()[offset], offset = 0;
      else
        offset = offset * size[c] + at[c];
    }
    int64_t to = 0;
    for (char c : right) to = to * size[c] + at[c];
    y[to] += product;
  }
  return y;
}

TEST(Einsum, Products) {
  const Tensor a = counting({2, 3, 4}), b = counting({2, 4, 5}), bt = counting({2, 5, 4}), c = counting({5, 6});
  const std::map<char, int64_t> s = {{'b', 2}, {'i', 3}, {'k', 4}, {'j', 5}};
  for (const char* e : {"bik,bkj->bij", "bik,bkj->bji", "bik,bkj->ijb", "bik,bkj->b", "bik,bkj->", "bik,bkj->jkib"})
    EXPECT_EQ(sum<float>(e, {a, b}), definition(e, {a, b}, s)) << e;
  for (const char* e : {"bik,bjk->bij", "bik,bjk->jbi"})
    EXPECT_EQ(sum<float>(e, {a, bt}), definition(e, {a, bt}, s)) << e;
  std::map<char, int64_t> three = s;
  three['m'] = 6;
  for (const char* e : {"bik,bkj,jm->bim", "bik,bkj,jm->mi"})
    EXPECT_EQ(sum<float>(e, {a, b, c}), definition(e, {a, b, c}, three)) << e;
  EXPECT_EQ(sum<float>("i,j->ij", {tensor<float>({2}, {1, 2}), tensor<float>({2}, {3, 4})}), (Floats{3, 4, 6, 8}));
  EXPECT_EQ(sum<float>("i,i", {tensor<float>({2}, {1, 2}), tensor<float>({2}, {3, 4})}), Floats{11});
}

TEST(Einsum, Ellipsis) {
  const Tensor a = counting({2, 3, 4}), b = counting({1, 4, 5});
  const auto y = output(
      {.op = "Einsum", .opset = 12, .inputs = {a, b}, .attrs = {{"equation", std::string("...ik,...kj->...ij")}}});
  EXPECT_EQ(shape(y), (Ints{2, 3, 5}));
  const Tensor twice = tensor<float>({2, 4, 5}, [&] {
    Floats v(b.data<float>(), b.data<float>() + 20);
    v.insert(v.end(), v.begin(), v.begin() + 20);
    return v;
  }());
  EXPECT_EQ(values<float>(y), definition("bik,bkj->bij", {a, twice}, {{'b', 2}, {'i', 3}, {'k', 4}, {'j', 5}}));
  const std::string why = failure({.op = "Einsum",
                                   .opset = 12,
                                   .inputs = {a, counting({4, 5})},
                                   .attrs = {{"equation", std::string("...ik,...kj")}}});
  EXPECT_NE(why.find("1 dimensions of input 0 and for 0 of input 1"), std::string::npos) << why;
}

TEST(Einsum, TypesAndChecks) {
  EXPECT_EQ(sum<int32_t>("ij,j->i", {tensor<int32_t>({2, 2}, {1, 2, 3, 4}), tensor<int32_t>({2}, {5, 6})}),
            (std::vector<int32_t>{17, 39}));
  EXPECT_EQ(sum<double>("i,i->", {tensor<double>({2}, {1, 2}), tensor<double>({2}, {.5, .25})}),
            std::vector<double>{1});
  EXPECT_EQ(widened(output({.op = "Einsum",
                            .opset = 12,
                            .inputs = {half({2}, {1, 2}), half({2}, {3, 4})},
                            .attrs = {{"equation", std::string("i,i->")}}})),
            Floats{11});
  EXPECT_EQ(sum<float>("ij,jk->ik", {tensor<float>({2, 0}, {}), tensor<float>({0, 1}, {})}), (Floats{0, 0}));
  const auto message = [](const char* e, Tensor x) {
    return failure({.op = "Einsum", .opset = 12, .inputs = {x}, .attrs = {{"equation", std::string(e)}}});
  };
  EXPECT_NE(message("ij->k", counting({2, 2})).find("'k'"), std::string::npos);
  EXPECT_NE(message("i->i", counting({2, 2})).find("rank 2"), std::string::npos);
  EXPECT_NE(message("ii->i", counting({2, 3})).find("size 3"), std::string::npos);
  EXPECT_NE(message("i1->i", counting({2, 3})).find("'1'"), std::string::npos);
  EXPECT_EQ(inferred({.op = "Einsum", .opset = 12, .attrs = {{"equation", std::string("bhid,bhjd->bhij")}}},
                     {fact({symbol("B"), 8, symbol("S"), 64}), fact({symbol("B"), 8, symbol("T"), 64})}),
            "{B,8,S,T}");
}

}  // namespace
}  // namespace trunnion::ops::test
