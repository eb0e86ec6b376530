// Runs a model of one float input with ones, through the C++ header. From the root, after ./dev build:
//   c++ -std=c++17 examples/hello.cpp -o hello -Iinclude -Lbuild/release -lonnxruntime -Wl,-rpath,$PWD/build/release
//   ./hello model.onnx 1 3 48 192
#include <cstdio>
#include <cstdlib>
#include <trunnion/trunnion.hpp>

int main(int argc, char** argv) try {
  if (argc < 2) return std::fprintf(stderr, "usage: hello model.onnx dimensions\n"), 2;
  trunnion::Env env("hello");
  trunnion::Session session(env, argv[1]);

  trunnion::Shape shape;
  for (int i = 2; i < argc; ++i) shape.push_back(std::atoll(argv[i]));
  auto input = trunnion::Value::allocate<float>(shape);
  for (float& x : input.data<float>()) x = 1;

  const auto outputs = session.run({{session.inputs().at(0), input}});
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::printf("%s:", session.outputs()[i].c_str());
    size_t shown = 0;
    for (float y : outputs[i].data<float>())
      if (shown++ < 10) std::printf(" %g", y);
    std::printf("\n");
  }
  return 0;
} catch (const trunnion::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
