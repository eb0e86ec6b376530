// What a call of Run costs through the C ABI, of two or more libraries in one process, interleaved:
//   g++ -O2 -std=c++20 -Iinclude -Itests/abi bench/abi_run.cc -o build/abi_run -ldl
//   build/abi_run build/release/libonnxruntime.so.1 /path/of/onnxruntime/capi/libonnxruntime.so.1.32.0
// One thread each; outputs are made by the library and released, as clients do, and for the last column given. A
// further model may stand behind --model: its inputs are floats, free dimensions become 1.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tiny_model.h"
#include "trunnion/ort_abi.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Library {
  std::string path;
  const OrtApi* api = nullptr;
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtMemoryInfo* memory = nullptr;

  void check(OrtStatus* status) const {
    if (!status) return;
    std::fprintf(stderr, "%s: %s\n", path.c_str(), api->GetErrorMessage(status));
    std::exit(1);
  }
  explicit Library(const char* file) : path(file) {
    void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    const auto base = handle ? reinterpret_cast<const OrtApiBase* (*)()>(dlsym(handle, "OrtGetApiBase")) : nullptr;
    if (!base) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::exit(1);
    }
    for (uint32_t version = ORT_API_VERSION; !api && version > 20; --version) api = base()->GetApi(version);
    check(api->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "bench", &env));
    check(api->CreateSessionOptions(&options));
    check(api->SetIntraOpNumThreads(options, 1));
    check(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
  }
};

// One model in one library, with what a call needs.
struct Case {
  const Library& lib;
  OrtSession* session = nullptr;
  OrtValue *input = nullptr, *given = nullptr;
  char *from = nullptr, *to = nullptr;
  std::vector<float> data = std::vector<float>(1 << 12, 0.5f);

  Case(const Library& library, const std::string& bytes) : lib(library) {
    const OrtApi& a = *lib.api;
    lib.check(a.CreateSessionFromArray(lib.env, bytes.data(), bytes.size(), lib.options, &session));
    OrtAllocator* allocator = nullptr;
    OrtTypeInfo* type = nullptr;
    const OrtTensorTypeAndShapeInfo* info = nullptr;
    size_t rank = 0;
    lib.check(a.GetAllocatorWithDefaultOptions(&allocator));
    lib.check(a.SessionGetInputName(session, 0, allocator, &from));
    lib.check(a.SessionGetOutputName(session, 0, allocator, &to));
    lib.check(a.SessionGetInputTypeInfo(session, 0, &type));
    lib.check(a.CastTypeInfoToTensorInfo(type, &info));
    lib.check(a.GetDimensionsCount(info, &rank));
    std::vector<int64_t> dims(rank);
    lib.check(a.GetDimensions(info, dims.data(), rank));
    for (int64_t& d : dims) d = std::max<int64_t>(d, 1);
    lib.check(a.CreateTensorWithDataAsOrtValue(lib.memory, data.data(), data.size() * 4, dims.data(), rank,
                                               ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input));
    lib.check(run(&given));
    a.ReleaseTypeInfo(type);
  }
  OrtStatus* run(OrtValue** out) const {
    const OrtValue* in = input;
    return lib.api->Run(session, nullptr, &from, &in, 1, &to, 1, out);
  }
  // Nanoseconds a call.
  double time(int calls, bool with_given) {
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) {
      OrtValue* out = with_given ? given : nullptr;
      lib.check(run(&out));
      if (!with_given) lib.api->ReleaseValue(out);
    }
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls;
  }
};

// Clip, Softmax and LayerNormalization-like chains would be fused: nodes that no engine merges are taken in turn.
std::string chain(int nodes) {
  tiny::Graph g;
  g.inputs = {tiny::value_info("x", tiny::kFloat, {"1", "4"})};
  for (int i = 0; i < nodes; ++i) {
    const std::string in = i ? "v" + std::to_string(i) : "x";
    const std::string out = i + 1 < nodes ? "v" + std::to_string(i + 1) : "y";
    g.nodes.push_back(tiny::node(i % 2 ? "Relu" : "Softmax", {in}, {out}));
  }
  g.outputs = {tiny::value_info("y", tiny::kFloat, {"1", "4"})};
  return tiny::model(g);
}

tiny::Message matrix(const std::string& name, int64_t rows, int64_t columns) {
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) / 7 - 0.4f;
  std::string raw(values.size() * 4, '\0');
  std::memcpy(raw.data(), values.data(), raw.size());
  return tiny::Message().integer(1, rows).integer(1, columns).integer(2, tiny::kFloat).bytes(8, name).bytes(9, raw);
}

std::string tiny_mlp() {
  tiny::Graph g;
  g.inputs = {tiny::value_info("x", tiny::kFloat, {"N", "4"})};
  g.initializers = {matrix("w1", 4, 16),
                    matrix("w2", 16, 16),
                    matrix("w3", 16, 3),
                    tiny::floats("b1", std::vector<float>(16, 0.1f)),
                    tiny::floats("b2", std::vector<float>(16, 0.1f)),
                    tiny::floats("b3", std::vector<float>(3, 0.1f))};
  g.nodes = {tiny::node("Gemm", {"x", "w1", "b1"}, {"h1"}),  tiny::node("Relu", {"h1"}, {"r1"}),
             tiny::node("Gemm", {"r1", "w2", "b2"}, {"h2"}), tiny::node("Relu", {"h2"}, {"r2"}),
             tiny::node("Gemm", {"r2", "w3", "b3"}, {"h3"}), tiny::node("Softmax", {"h3"}, {"p"})};
  g.outputs = {tiny::value_info("p", tiny::kFloat, {"N", "3"})};
  return tiny::model(g);
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<long>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Library> libraries;
  libraries.reserve(static_cast<size_t>(argc));
  std::vector<std::pair<std::string, std::string>> models = {
      {"one node", chain(1)}, {"41 nodes", chain(41)}, {"tiny mlp", tiny_mlp()}};
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--model" && i + 1 < argc) {
      std::ifstream file(argv[++i], std::ios::binary);
      models.emplace_back(argv[i], std::string(std::istreambuf_iterator<char>(file), {}));
    } else {
      libraries.emplace_back(argv[i]);
    }
  }
  if (libraries.empty()) return std::fprintf(stderr, "usage: abi_run LIBRARY... [--model FILE]...\n"), 2;
  constexpr int kRounds = 31, kCalls = 2000;
  std::vector<std::vector<double>> made(models.size());
  for (size_t m = 0; m < models.size(); ++m) {
    std::vector<Case> cases;
    for (const Library& lib : libraries) cases.emplace_back(lib, models[m].second);
    std::vector<std::vector<double>> fresh(cases.size()), given(cases.size());
    for (int round = 0; round < kRounds; ++round)
      for (size_t c = 0; c < cases.size(); ++c) {
        fresh[c].push_back(cases[c].time(kCalls, false));
        given[c].push_back(cases[c].time(kCalls, true));
      }
    for (size_t c = 0; c < cases.size(); ++c) {
      made[m].push_back(median(fresh[c]));
      std::printf("%-24s %-60s %8.0f ns a call, %8.0f ns with the output given\n", models[m].first.c_str(),
                  libraries[c].path.c_str(), made[m].back(), median(given[c]));
    }
  }
  for (size_t c = 0; c < libraries.size(); ++c)
    std::printf("%-24s %-60s %8.1f ns\n", "a further node", libraries[c].path.c_str(), (made[1][c] - made[0][c]) / 40);
  return 0;
}
