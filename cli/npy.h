// numpy's files: .npy, one array, and .npz, a zip of them.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "array.h"

namespace trunnion::cli {

// The array in the bytes of an .npy file. `wanted` tells which type raw elements (numpy's void, what arrays of bfloat16
// and the like are stored as) are; it changes nothing else. `what` names the file in errors.
Array read_npy(std::string_view bytes, DataType wanted, const std::string& what);

// The bytes of an .npy file. Types that numpy lacks become float32, int8 or uint8, with the same values.
std::string write_npy(const Array& array);
DataType numpy_type(DataType type);  // the type that write_npy stores

// Name (without .npy) and bytes of the files in an .npz.
using Entries = std::vector<std::pair<std::string, std::string>>;
Entries read_npz(std::string_view bytes, const std::string& what);

// The bytes of an .npz with these files, which are not compressed.
std::string write_npz(const Entries& entries);

}  // namespace trunnion::cli
