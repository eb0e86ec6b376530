#include "onnx/external_data.h"

#include <charconv>
#include <optional>

#include "base/checked_math.h"
#include "base/error.h"

namespace trunnion::onnx {
namespace {

std::optional<uint64_t> parse_number(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (text.empty() || code != std::errc() || stop != end) return std::nullopt;
  return value;
}

struct Entries {
  std::optional<std::string_view> location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

Result<Entries> read_entries(const TensorProtoView& tensor) {
  Entries out;
  for (const StringEntry& e : tensor.external_data) {
    if (e.key == "location") out.location = e.value;
    if (e.key != "offset" && e.key != "length") continue;
    const auto number = parse_number(e.value);
    if (!number) return invalid_graph("the external data's {} '{}' is not a non-negative number", e.key, e.value);
    if (e.key == "offset") out.offset = *number;
    if (e.key == "length") out.length = *number;
  }
  if (!out.location) return invalid_graph("the external data has no location");
  return out;
}

}  // namespace

void ExternalData::add_memory_file(std::string location, Bytes bytes, std::shared_ptr<const void> keep_alive) {
  memory_[std::move(location)] = {bytes, std::move(keep_alive)};
}

Result<std::shared_ptr<MappedFile>> ExternalData::open(std::string_view location) {
  if (const auto known = by_location_.find(location); known != by_location_.end()) return known->second;
  TRN_ASSIGN(std::string path, path_of(location));
  auto& file = by_path_[path];
  if (!file) {
    auto opened = MappedFile::open(path, mode_);
    if (!opened.ok()) {
      by_path_.erase(path);
      return opened.status();
    }
    file = std::move(opened).value();
  }
  by_location_.emplace(location, file);
  return file;
}

Result<ExternalData::Range> ExternalData::find(const TensorProtoView& tensor, uint64_t size) {
  const std::string context = fmt::format("tensor '{}'", tensor.name);
  const auto entries = read_entries(tensor);
  if (!entries.ok()) return entries.status().with_context(context);
  const std::string_view location = *entries->location;
  if (entries->length && *entries->length != size)
    return invalid_graph("{} needs {} bytes, but its external data in '{}' has length {}", context, size, location,
                         *entries->length);
  Range file;
  if (const auto memory = memory_.find(location); memory != memory_.end()) {
    file = memory->second;
  } else {
    auto opened = open(location);
    if (!opened.ok()) return opened.status().with_context(context + ", external data");
    file = {(*opened)->bytes(), *opened};
  }
  if (!range_fits(entries->offset, size, file.bytes.size()))
    return invalid_graph(
        "{}: external data at offset {} with {} bytes is out of bounds: file '{}' has a size of {} bytes", context,
        entries->offset, size, location, file.bytes.size());
  file.bytes = file.bytes.subspan(entries->offset, size);
  return file;
}

std::vector<std::shared_ptr<MappedFile>> ExternalData::files() const {
  std::vector<std::shared_ptr<MappedFile>> out;
  for (const auto& [path, file] : by_path_) out.push_back(file);
  return out;
}

}  // namespace trunnion::onnx
