#include "known_plugins.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "providers.h"

namespace trunnion::cli {
namespace {

namespace fs = std::filesystem;

// FOLDER/lib/python3.*/site-packages and dist-packages.
void add_python_folders(const fs::path& root, std::vector<std::string>& folders) {
  std::error_code ignored;
  std::vector<std::string> found;
  for (const char* lib : {"lib", "lib64", "local/lib"})
    for (const auto& entry : fs::directory_iterator(root / lib, ignored)) {
      if (!entry.path().filename().string().starts_with("python3")) continue;
      for (const char* kind : {"site-packages", "dist-packages"})
        if (fs::is_directory(entry.path() / kind, ignored)) found.push_back((entry.path() / kind).string());
    }
  std::ranges::sort(found);
  folders.insert(folders.end(), found.begin(), found.end());
}

constexpr KnownPlugin kKnownPlugins[] = {
    {"OpenVINOExecutionProvider", "onnxruntime-ep-openvino",
     "onnxruntime_ep_openvino/libonnxruntime_providers_openvino_plugin.so", "OpenVINOExecutionProvider",
     "it offers processors, GPUs and NPUs of Intel only"},
    {"WebGpuExecutionProvider", "onnxruntime-ep-webgpu", "onnxruntime_ep_webgpu/libonnxruntime_providers_webgpu.so",
     "WebGpuExecutionProvider",
     "no GPU was found; for a Vulkan driver in software set ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER=1 and "
     "VK_ICD_FILENAMES"},
    {"QNNExecutionProvider", "onnxruntime-qnn", "onnxruntime_qnn/libonnxruntime_providers_qnn.so",
     "QNNExecutionProvider", "it needs a Qualcomm NPU, or the option backend_path with the path of libQnnHtp.so"},
    {"NvTensorRTRTXExecutionProvider", "onnxruntime-ep-nv-tensorrt-rtx-cu13",
     "onnxruntime_ep_nv_tensorrt_rtx/libonnxruntime_providers_nv_tensorrt_rtx.so", "NvTensorRTRTXExecutionProvider",
     "no NVIDIA GPU was found"},
    {"cpu_ep", "nxrt-ep-cpu", "nxrt_ep_cpu/libonnx_runtime_ep_cpu_plugin.so", "cpu_ep", "it needs a processor"},
    {"GgmlExecutionProvider", "onnxruntime-ggml", "onnxruntime_ggml/lib/libonnxruntime_ggml.so",
     "GgmlExecutionProvider", "it needs a processor"},
};

constexpr UnavailableProvider kUnavailableProviders[] = {
    {"CUDAExecutionProvider", "the library in onnxruntime-gpu is a part of ONNX Runtime and works with no other engine",
     "the plugin onnxruntime-ep-nv-tensorrt-rtx-cu13 or -cu12, for NVIDIA GPUs"},
    {"TensorrtExecutionProvider",
     "the library in onnxruntime-gpu is a part of ONNX Runtime and works with no other engine",
     "the plugin onnxruntime-ep-nv-tensorrt-rtx-cu13 or -cu12, for NVIDIA GPUs"},
    {"DmlExecutionProvider", "it is built into ONNX Runtime for Windows",
     "the plugin onnxruntime-ep-webgpu, for any GPU"},
    {"CoreMLExecutionProvider", "it is built into ONNX Runtime for macOS", "none yet"},
};

}  // namespace

std::span<const KnownPlugin> known_plugins() { return kKnownPlugins; }
std::span<const UnavailableProvider> unavailable_providers() { return kUnavailableProviders; }

std::vector<std::string> package_folders() {
  std::vector<std::string> folders;
  if (const char* given = std::getenv("TRUNNION_PLUGIN_PATH"))
    for (const std::string& folder : split_list(given, ':')) folders.push_back(folder);
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char* root = std::getenv(name)) add_python_folders(root, folders);
  if (const char* home = std::getenv("HOME")) add_python_folders(fs::path(home) / ".local", folders);
  add_python_folders("/usr/local", folders);
  add_python_folders("/usr", folders);
  return folders;
}

std::string find_library(const KnownPlugin& plugin, const std::vector<std::string>& folders) {
  std::error_code ignored;
  for (const std::string& folder : folders)
    if (const fs::path path = fs::path(folder) / plugin.library; fs::is_regular_file(path, ignored))
      return path.string();
  return "";
}

}  // namespace trunnion::cli
