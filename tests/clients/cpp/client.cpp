// ONNX Runtime's own C++ header over the library under test. Prints `key: value` lines; ../models.py says what they
// must be.
#include <onnxruntime_cxx_api.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using Names = std::vector<const char*>;
using Values = std::vector<Ort::Value>;

const Names kInputs = {"x", "ids", "names"};
const Names kOutputs = {"scaled", "total", "next", "greeting"};

std::string model(const char* name) { return std::string(std::getenv("CLIENT_MODELS")) + "/" + name; }

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class T>
void show(const std::string& key, const T& text) {
  std::ostringstream line;
  line << key << ": " << text;
  std::puts(line.str().c_str());
}

template <class T>
std::string list(const T* data, size_t count) {
  std::ostringstream out;
  for (size_t i = 0; i < count; ++i) out << (i ? " " : "") << data[i];
  return out.str();
}

template <class T>
std::string list(const Ort::Value& v) {
  return list(v.GetTensorData<T>(), v.GetTensorTypeAndShapeInfo().GetElementCount());
}

std::string strings(const Ort::Value& v) {
  std::string all;
  for (size_t i = 0; i < v.GetTensorTypeAndShapeInfo().GetElementCount(); ++i)
    all += (i ? "|" : "") + v.GetStringTensorElement(i);
  return all;
}

void show(const std::string& prefix, const Values& results) {
  show(prefix + ".scaled", list<float>(results[0]));
  show(prefix + ".total", list<float>(results[1]));
  show(prefix + ".next", list<int64_t>(results[2]));
  show(prefix + ".greeting", strings(results[3]));
}

template <class T>
Ort::Value tensor(const std::vector<int64_t>& shape, const std::vector<T>& data) {
  Ort::AllocatorWithDefaultOptions allocator;
  Ort::Value v = Ort::Value::CreateTensor<T>(allocator, shape.data(), shape.size());
  std::copy(data.begin(), data.end(), v.GetTensorMutableData<T>());
  return v;
}

Values feeds(const std::vector<int64_t>& shape, const std::vector<float>& x, const std::vector<int64_t>& ids,
             const Names& names) {
  Ort::AllocatorWithDefaultOptions allocator;
  const auto rows = static_cast<int64_t>(ids.size());
  Values all;
  all.push_back(tensor(shape, x));
  all.push_back(tensor({rows}, ids));
  all.push_back(Ort::Value::CreateTensor(allocator, &rows, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING));
  all.back().FillStringTensor(names.data(), names.size());
  return all;
}

Values run(Ort::Session& session, const Values& values, const Names& outputs) {
  return session.Run(Ort::RunOptions{nullptr}, kInputs.data(), values.data(), values.size(), outputs.data(),
                     outputs.size());
}

template <class F>
void show_error(const std::string& key, F&& call) {
  try {
    call();
    show(key, "no error");
  } catch (const Ort::Exception& e) {
    std::string text = e.what();
    for (char& c : text)
      if (c == '\n') c = ' ';
    show(key, text);
  }
}

void show_metadata(Ort::Session& session) {
  Ort::AllocatorWithDefaultOptions allocator;
  const Ort::ModelMetadata m = session.GetModelMetadata();
  show("metadata.producer", m.GetProducerNameAllocated(allocator).get());
  show("metadata.graph", m.GetGraphNameAllocated(allocator).get());
  show("metadata.domain", m.GetDomainAllocated(allocator).get());
  show("metadata.description", m.GetDescriptionAllocated(allocator).get());
  show("metadata.version", m.GetVersion());
  show("metadata.custom", m.LookupCustomMetadataMapAllocated("team", allocator).get());
}

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const auto& part : parts) all += (all.empty() ? "" : " ") + part;
  return all;
}

void show_library() {
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> loaded;
  for (std::string line; std::getline(maps, line);)
    if (line.find("/libonnxruntime.") != std::string::npos) loaded.insert(line.substr(line.find('/')));
  show("library", joined({loaded.begin(), loaded.end()}));
}

}  // namespace

int main() try {
  Ort::Env env(ORT_LOGGING_LEVEL_ERROR, "client");
  Ort::Session file(env, model("ports.onnx").c_str(), Ort::SessionOptions{});
  show("inputs", joined(file.GetInputNames()));
  show("outputs", joined(file.GetOutputNames()));
  show_metadata(file);
  show("file", run(file, feeds({1, 3}, {0, 1, 2}, {7}, {"ann"}), kOutputs));

  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(1);
  const std::string data = contents(model("ports.onnx"));
  Ort::Session bytes(env, data.data(), data.size(), options);
  const Values two = feeds({2, 3}, {-3, -2, -1, 0, 1, 2}, {-1, 9007199254740993}, {"b\xc3\xa7", ""});
  const Values results = run(bytes, two, kOutputs);
  const auto dims = results[0].GetTensorTypeAndShapeInfo().GetShape();
  show("bytes.dims", list(dims.data(), dims.size()));
  show("bytes", results);
  const Values some = run(bytes, two, {"next", "total"});
  show("some", list<int64_t>(some[0]) + " " + list<float>(some[1]));

  Ort::Value mine = tensor<float>({2}, {0, 0});
  const char* total = "total";
  bytes.Run(Ort::RunOptions{}, kInputs.data(), two.data(), two.size(), &total, &mine, 1);
  show("preallocated", list<float>(mine));

  std::vector<std::string> seconds(4);
  std::vector<std::thread> threads;
  for (auto& second : seconds)
    threads.emplace_back([&] { second = list(run(bytes, two, {"total"})[0].GetTensorData<float>() + 1, 1); });
  for (auto& t : threads) t.join();
  show("concurrent", joined(seconds));

  show_error("error.rank", [&] { run(file, feeds({6}, std::vector<float>(6), {7}, {"ann"}), kOutputs); });
  show_error("error.dims", [&] { run(file, feeds({1, 2}, {0, 0}, {7}, {"ann"}), kOutputs); });
  show_error("error.absent", [&] { Ort::Session(env, model("absent.onnx").c_str(), Ort::SessionOptions{}); });
  show_error("error.unknown", [&] { Ort::Session(env, model("unknown.onnx").c_str(), Ort::SessionOptions{}); });
  show_library();
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
