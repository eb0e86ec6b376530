// Types and tensor literals of the text form, both ways.
#pragma once
#include <string>

#include "ir/text_lexer.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

namespace trunnion::ir::text {

// Elements after "type name =": {1, 2}, 1.5 (rank 0), fill(v), raw("hex") or "..." for what is longer than
// max_elements.
std::string literal_text(const Tensor& tensor, int64_t max_elements);
// Reads those, and random(seed) or random(seed, low, high). `at` is where the tensor's type stands, for messages.
Result<Tensor> parse_literal(Lexer& lexer, const Type& type, size_t at);

// Shortest text that reads back as the same number; with '.' or an exponent unless it is inf or nan.
std::string float_text(float value);
// A number token or the words inf and nan.
Result<float> parse_float(Lexer& lexer);
Result<int64_t> parse_int(Lexer& lexer);

std::string dim_text(const Dim& dim);
bool begins_type(const Token& token);
Result<Type> parse_type(Lexer& lexer, int depth = 0);

inline constexpr int kMaxDepth = 32;  // of nested types, dimensions, braces and bodies

}  // namespace trunnion::ir::text
