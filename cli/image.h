// Pictures as tensors.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "array.h"
#include "engine.h"

namespace trunnion::cli {

// A pixel value p of 0 to 255 becomes (p * scale - mean) / std, by channel.
struct ImageOptions {
  std::vector<double> mean;  // one value, or one for each channel; empty: 0
  std::vector<double> std;   // likewise; empty: 1
  double scale = 0;          // 0: 1/255 for floating-point inputs, 1 for integers
  bool bgr = false;          // blue first
};

// The tensor for a port of the shape [N,C,H,W], [N,H,W,C], the same without N, or [H,W]; C is 1, 3 or 4. The picture is
// stretched to H and W where they are fixed. `note` is told what was done.
Array read_image(std::string_view bytes, const Port& port, const ImageOptions& options, const std::string& what,
                 std::string& note);

}  // namespace trunnion::cli
