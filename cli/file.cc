#include "file.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "failure.h"

namespace trunnion::cli {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

// A line of the system's account of this process.
double status_bytes(const char* line_form) {
  const File status(std::fopen("/proc/self/status", "r"));
  char line[256];
  double kibibytes = 0;
  while (status && std::fgets(line, sizeof(line), status.get()))
    if (std::sscanf(line, line_form, &kibibytes) == 1) return kibibytes * 1024;
  return 0;
}

}  // namespace

std::string read_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) unusable("{} is a folder", path);
  // A pipe may never end, nor a device.
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    unusable("{} is no regular file", path);
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) unusable("cannot open {}: {}", path, std::strerror(errno));
  std::string bytes;
  const auto size = std::filesystem::file_size(path, error);
  if (!error) bytes.reserve(size);
  char block[1 << 16];
  while (const size_t n = std::fread(block, 1, sizeof(block), file.get())) bytes.append(block, n);
  if (std::ferror(file.get())) unusable("cannot read {}", path);
  return bytes;
}

void write_file(const std::string& path, std::string_view bytes) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) unusable("cannot write {}: {}", path, std::strerror(errno));
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  if (std::fclose(file.release()) != 0 || !written) unusable("cannot write {}: {}", path, std::strerror(errno));
}

void check_writable(const std::string& path) {
  std::error_code error;
  const bool existed = std::filesystem::exists(path, error);
  const File file(std::fopen(path.c_str(), "ab"));
  if (!file) unusable("cannot write {}: {}", path, std::strerror(errno));
  if (!existed) std::filesystem::remove(path, error);
}

std::string extension(const std::string& path) {
  std::string text = std::filesystem::path(path).extension().string();
  if (!text.empty()) text.erase(0, 1);
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string bytes_text(double bytes) {
  const char* unit = "bytes";
  for (const char* larger : {"kB", "MB", "GB", "TB"}) {
    if (bytes < 1000) break;
    bytes /= 1000;
    unit = larger;
  }
  return unit[0] == 'b' ? fmt::format("{:.0f} bytes", bytes) : fmt::format("{:.1f} {}", bytes, unit);
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "trunnion-XXXXXX").string();
  if (!mkdtemp(name.data())) unusable("cannot make a folder like {}: {}", name, std::strerror(errno));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

double peak_memory() { return status_bytes("VmHWM: %lf"); }
double resident_memory() { return status_bytes("VmRSS: %lf"); }

}  // namespace trunnion::cli
