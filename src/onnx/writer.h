// ModelView -> bytes of a .onnx file.
#pragma once
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "onnx/model_view.h"

namespace trunnion::onnx {

// No protobuf reader takes a message of more bytes.
inline constexpr uint64_t kMaxModelBytes = (uint64_t{1} << 31) - 1;

// Size of the serialised model; computes only, so that a caller can decide for external data.
uint64_t serialized_bytes(const ModelView& model);

// Fails when the result would be larger than kMaxModelBytes, and names that size.
Result<std::vector<std::byte>> serialize(const ModelView& model);

// One TensorProto, as in the .pb files of test data.
std::vector<std::byte> serialize_tensor(const TensorProtoView& tensor);

// Moves raw data out of a model into one file beside it.
class ExternalFile {
 public:
  static constexpr uint64_t kAlignment = 4096;

  explicit ExternalFile(std::string location) : location_(std::move(location)) {}

  // Initializers (of bodies too) with at least `threshold` bytes of raw data get external_data entries instead. The
  // entries are views into this object.
  void take(GraphView& graph, uint64_t threshold);

  struct Piece {
    uint64_t offset = 0;
    Bytes bytes;
  };
  // In ascending order; gaps are zero.
  const std::vector<Piece>& pieces() const { return pieces_; }
  uint64_t size() const { return size_; }
  const std::string& location() const { return location_; }
  // The content in one piece of memory.
  std::vector<std::byte> content() const;

 private:
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  std::string location_;
  std::deque<std::string> texts_;
  std::vector<Piece> pieces_;
  uint64_t size_ = 0;
};

}  // namespace trunnion::onnx
