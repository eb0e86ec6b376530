// What arg_extreme.simd.cc gives to reduce.cc.
#pragma once
#include "kernels/reduce.h"

namespace trunnion::kernels {

inline constexpr int kArgTypes = 12;
// The place of a type in the table, or -1.
constexpr int arg_row(Elem type) {
  switch (type) {
    case Elem::f32:
      return 0;
    case Elem::f64:
      return 1;
    case Elem::f16:
      return 2;
    case Elem::bf16:
      return 3;
    case Elem::i8:
      return 4;
    case Elem::i16:
      return 5;
    case Elem::i32:
      return 6;
    case Elem::i64:
      return 7;
    case Elem::u8:
      return 8;
    case Elem::u16:
      return 9;
    case Elem::u32:
      return 10;
    case Elem::u64:
      return 11;
    default:
      return -1;
  }
}

struct ArgTable {
  ArgFn fn[kArgTypes][2][2];  // [type][largest][last]
};
const ArgTable& arg_table();

}  // namespace trunnion::kernels
