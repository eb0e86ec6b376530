// Values as a person or a program reads them: type, shape, statistics, first elements, the best of a row.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "array.h"
#include "engine.h"
#include "json_array.h"
#include "npy.h"

namespace trunnion::cli {

struct ReportOptions {
  int values = 8;                   // how many elements are shown
  int top = 0;                      // how many of each row; 0: none
  std::vector<std::string> labels;  // of the columns
};

// Any value that a run gives, taken apart.
struct Result {
  std::string name;
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  bool empty = false;         // an optional without a value
  Array array;                // of a tensor
  std::vector<Result> parts;  // of a sequence: its elements; of a map: its keys and its values
  DataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;  // of a sparse tensor
  Shape shape;                                                 // likewise: its full shape
  size_t stored = 0;                                           // likewise: elements that are stored
};

Result take_apart(const std::string& name, Value value);

std::string type_text(const Result& result);

// Lines for people, each ending in a newline; `indent` stands before each.
std::string describe(const Result& result, const ReportOptions& options, const std::string& indent);
Json to_json(const Result& result, const ReportOptions& options);

// Tensors as they are; elements of sequences as NAME.0, NAME.1, ...; maps as NAME.keys and NAME.values. Gives notes on
// what was stored otherwise than it is.
void add_entries(const Result& result, const std::string& name, Entries& entries, std::vector<std::string>& notes);

}  // namespace trunnion::cli
