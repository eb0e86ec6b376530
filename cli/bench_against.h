// A model on trunnion and on other engines in turns, in this process.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bench_report.h"
#include "engine.h"

namespace trunnion::cli {

struct PeerChoices {
  std::vector<std::string> engines;   // onnxruntime, openvino
  std::string onnxruntime, openvino;  // libraries, if given
  std::string python;                 // the interpreter to look for packages; empty: python3
  bool any() const { return !engines.empty(); }
};

// Trunnion comes first. An engine that is missing or refuses the model has `missing` set; the others are compared.
std::vector<PeerResult> compare_with_peers(const LoadedModel& model, const std::string& path,
                                           const std::vector<Feed>& feeds, int threads, const std::string& precision,
                                           double seconds, const PeerChoices& choices,
                                           const std::function<void(const std::string&)>& tell);

}  // namespace trunnion::cli
