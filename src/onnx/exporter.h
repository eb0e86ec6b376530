// ir::Model -> the bytes of a .onnx file that other engines load too.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "onnx/model_view.h"

namespace trunnion::onnx {

struct ExportOptions {
  std::string external_file;           // weights go into this file beside the model (name only); empty: into the model
  uint64_t external_threshold = 1024;  // only those with at least as many bytes
};

// Writes the model atomically. A model over 2 GiB goes to "<name>.data" beside it even when no external file is asked
// for.
Status export_model(const ir::Model& model, const std::string& path, const ExportOptions& options = {});

// Where the bytes of a weight are kept outside the model.
struct ExternalPlace {
  std::string location;
  uint64_t offset = 0, bytes = 0;
};

// Asked for every weight with raw data, of bodies too: a place, where the caller has put it, or nothing to keep it in
// the model.
using PlaceFn = std::function<Result<std::optional<ExternalPlace>>(const TensorProtoView& weight)>;

// The bytes of the model's file.
Result<std::vector<std::byte>> export_bytes(const ir::Model& model, const PlaceFn& place = nullptr);

}  // namespace trunnion::onnx
