// The fp32 convolutions in which every channel stands for itself.
#include "conv_case.h"
#include "measured.h"

namespace trunnion::bench {

void suite() {
  constexpr ConvCase kCases[] = {
      {"dw3x3_144_56", 2, 144, 144, 56, 56, 3, 1, 1, 144},
      {"dw3x3_s2_96_112", 2, 96, 96, 112, 112, 3, 2, 1, 96},
      {"dw3x3_32_112", 2, 32, 32, 112, 112, 3, 1, 1, 32},
      {"dw3x3_960_7", 2, 960, 960, 7, 7, 3, 1, 1, 960},
      {"dw5x5_240_28", 2, 240, 240, 28, 28, 5, 1, 2, 240},
      {"dw5x5_s2_240_28", 2, 240, 240, 28, 28, 5, 2, 2, 240},
      {"dw7x7_96_56", 2, 96, 96, 56, 56, 7, 1, 3, 96},
      {"dw1d_512_1500_k31", 1, 512, 512, 1, 1500, 31, 1, 15, 512},
      {"tdw4x4_s2_64_28", 2, 64, 64, 28, 28, 4, 2, 1, 64, true},
  };
  for (const ConvCase& c : kCases) add_convolution(c);
}

}  // namespace trunnion::bench
