// The text form of a signature: rows of onnx_schemas.inc, and literals in the files of contrib and fused operators.
//
//   com.microsoft::FusedMatMul 1 (A:T, B:T) -> (Y:T) {alpha:f=1, transA:i=0, mode!:s} T=float|bf16
//
//   row         [domain "::"] operator since flag... "(" params ")" "->" "(" params ")" ["{" attributes "}"]
//   constraint... flag        deprecated | experimental | function | context_function param       name mark ":"
//   (constraint name | types) mark        nothing | "?" optional | "*" variadic | "+" variadic, one or more | "+3" at
//   least three;
//               "~" after a variadic mark: the actual values may differ in type
//   attribute   name ["!" required] ":" kind ["=" default]; the name * allows any others
//   kind        f i s t g st tp (FLOAT INT STRING TENSOR GRAPH SPARSE_TENSOR TYPE_PROTO), fs is ss ts gs sts tps
//   (lists) default     1e-5 | -1 | 'text' | [0,2,3] constraint  name "=" types types       type {"|" type} type f32 u8
//   i8 u16 i16 i32 i64 string bool f16 f64 u32 u64 c64 c128 bf16 f8e4m3fn f8e4m3fnuz f8e5m2
//               f8e5m2fnuz u4 i4 f4e2m1 f8e8m0 u2 i2 f6e2m3 f6e3m2
//               | float (f16 f32 f64) | int (i8..i64) | uint (u8..u64) | num (float int uint)
//               | basic (num bool string c64 c128) | f8 (the four f8e4/f8e5 types)
//               | seq(types) | opt(types) | map(key,value) | sparse(types)
#pragma once
#include <string_view>

#include "base/status.h"
#include "schema/schema.h"

namespace trunnion::schema {

// The text must outlive the Schema (use a literal). Errors say at which column the row stops making sense.
Result<Schema> parse_row(std::string_view text);

}  // namespace trunnion::schema
