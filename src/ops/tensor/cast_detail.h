// The kernel that Cast and CastLike share.
#pragma once
#include "kernels/convert.h"
#include "ops/op.h"

namespace trunnion::ops {

// Attributes saturate and round_mode; both operators have them.
Result<kernels::ConvertParams> read_convert_params(const ir::Node& n);

// out(0) = in(0) as `to`, with its content where integers keep their value.
Status infer_cast(ir::Facts& f, DType to);

// Converts input 0 (any type but complex) to `to`.
Result<std::unique_ptr<Kernel>> make_cast(DType from, DType to, kernels::ConvertParams params);

// One number from text as C++ reads it, surrounding blanks allowed; INF and NaN in any case. Integers take the number's
// integral part. Text behind the number is ignored. An error names the text.
Result<double> parse_number(const std::string& text);

// The other way: "%.8g" for floats, INF, -INF, NaN.
std::string number_text(double v);

}  // namespace trunnion::ops
