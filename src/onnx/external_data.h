// Tensors whose bytes lie in files beside the model. Each file is mapped once per model, when it is first needed.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/status.h"
#include "onnx/model_view.h"

namespace trunnion::onnx {

// Of one model; used by one thread (the one that loads it).
class ExternalData {
 public:
  // Files must lie in `folder` (the model's) or, where a link leads there, in one of `also`; see resolve_inside.
  explicit ExternalData(std::string folder, std::vector<std::string> also = {}, OpenMode mode = OpenMode::map)
      : folder_(std::move(folder)), also_(std::move(also)), mode_(mode) {}

  // A file that the caller already has in memory; it stands before the one on disk. `location` as the model spells it.
  void add_memory_file(std::string location, Bytes bytes, std::shared_ptr<const void> keep_alive);

  struct Range {
    Bytes bytes;
    std::shared_ptr<const void> keep_alive;
  };
  // The `size` bytes that the external_data entries of a tensor point to. Recognised keys: location, offset, length
  // (which must equal `size`); the checksum is not verified, other keys are ignored. Errors name tensor, file and
  // numbers.
  Result<Range> find(const TensorProtoView& tensor, uint64_t size);

  // The files that were mapped so far, for reports and for watching changes.
  std::vector<std::shared_ptr<MappedFile>> files() const;
  // The same by their locations, as the model spells them.
  using Locations = std::map<std::string, std::shared_ptr<MappedFile>, std::less<>>;
  const Locations& locations() const { return by_location_; }
  // The canonical path of the file that a location leads to now.
  Result<std::string> path_of(std::string_view location) const { return resolve_inside(folder_, location, also_); }

 private:
  Result<std::shared_ptr<MappedFile>> open(std::string_view location);

  std::string folder_;
  std::vector<std::string> also_;
  OpenMode mode_;
  std::map<std::string, Range, std::less<>> memory_;
  Locations by_location_;
  std::map<std::string, std::shared_ptr<MappedFile>> by_path_;  // two spellings of one file share the mapping
};

}  // namespace trunnion::onnx
