// ir::Model -> the bytes of a .onnx file that other engines load too.
#pragma once
#include <string>

#include "base/status.h"
#include "ir/graph.h"

namespace trunnion::onnx {

struct ExportOptions {
  std::string external_file;           // weights go into this file beside the model (name only); empty: into the model
  uint64_t external_threshold = 1024;  // only those with at least as many bytes
};

// Writes the model atomically. A model over 2 GiB goes to "<name>.data" beside it even when no external file is asked
// for.
Status export_model(const ir::Model& model, const std::string& path, const ExportOptions& options = {});

}  // namespace trunnion::onnx
