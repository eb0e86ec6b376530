// Runs a model of one float input with ones, through ONNX Runtime's own C++ header. HEADERS is the folder of its
// onnxruntime_cxx_api.h. From the root, after ./dev build:
//   c++ -std=c++17 examples/genuine.cpp -o genuine -IHEADERS -Lbuild/release -lonnxruntime
//   -Wl,-rpath,$PWD/build/release
//   ./genuine model.onnx 1 3 48 192
#include <onnxruntime_cxx_api.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) try {
  if (argc < 2) return std::fprintf(stderr, "usage: genuine model.onnx dimensions\n"), 2;
  Ort::Env env(ORT_LOGGING_LEVEL_WARNING, "genuine");
  Ort::Session session(env, argv[1], Ort::SessionOptions{});

  Ort::AllocatorWithDefaultOptions allocator;
  const auto input_name = session.GetInputNameAllocated(0, allocator);
  const auto output_name = session.GetOutputNameAllocated(0, allocator);
  const char* const inputs[] = {input_name.get()};
  const char* const outputs[] = {output_name.get()};

  std::vector<int64_t> shape;
  for (int i = 2; i < argc; ++i) shape.push_back(std::atoll(argv[i]));
  Ort::Value input = Ort::Value::CreateTensor<float>(allocator, shape.data(), shape.size());
  const size_t count = input.GetTensorTypeAndShapeInfo().GetElementCount();
  for (size_t i = 0; i < count; ++i) input.GetTensorMutableData<float>()[i] = 1;

  const auto results = session.Run(Ort::RunOptions{nullptr}, inputs, &input, 1, outputs, 1);
  const size_t have = results[0].GetTensorTypeAndShapeInfo().GetElementCount();
  std::printf("%s:", outputs[0]);
  for (size_t i = 0; i < have && i < 10; ++i) std::printf(" %g", results[0].GetTensorData<float>()[i]);
  std::printf("%s\n", have > 10 ? " ..." : "");
  return 0;
} catch (const Ort::Exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
