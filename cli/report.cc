#include "report.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "failure.h"

namespace trunnion::cli {
namespace {

constexpr size_t kRowsShown = 16, kPartsShown = 16;

bool has_numbers(const Array& array) {
  const ElementKind kind = element_facts(array.type).kind;
  return array.count > 0 && kind != ElementKind::text && kind != ElementKind::complex && kind != ElementKind::none;
}

struct Statistics {
  std::optional<size_t> least, greatest;  // indices; none when all elements are NaN
  double mean = 0;
  size_t nan = 0, infinite = 0;
};

// NaNs count in none of the figures but their own.
Statistics statistics(const Array& array) {
  Statistics s;
  double sum = 0, low = 0, high = 0;
  for (size_t i = 0; i < array.count; ++i) {
    const double value = number_at(array.type, array.data.get(), i);
    if (std::isnan(value)) {
      ++s.nan;
      continue;
    }
    s.infinite += std::isinf(value);
    sum += value;
    if (!s.least || value < low) s.least = i, low = value;
    if (!s.greatest || value > high) s.greatest = i, high = value;
  }
  s.mean = sum / static_cast<double>(array.count - s.nan);
  return s;
}

std::string first_elements(const Array& array, int most) {
  std::string text;
  const size_t shown = std::min(array.count, static_cast<size_t>(most));
  for (size_t i = 0; i < shown; ++i) text += (i ? " " : "") + element_text(array, i);
  if (shown && shown < array.count) text += " ...";
  return text;
}

// The array as rows along its last dimension that is not 1.
struct Rows {
  size_t count = 0, width = 0;
};
Rows rows_of(const Array& array) {
  if (!has_numbers(array) || array.shape.empty()) return {};
  size_t last = array.shape.size();
  while (last > 1 && array.shape[last - 1] == 1) --last;
  const auto width = static_cast<size_t>(array.shape[last - 1]);
  return {array.count / width, width};
}

// Columns of a row by falling value, NaN last, equal ones in order.
std::vector<size_t> best_of_row(const Array& array, size_t row, size_t width, int top) {
  std::vector<size_t> columns(width);
  std::iota(columns.begin(), columns.end(), size_t{0});
  std::vector<double> values(width);
  for (size_t c = 0; c < width; ++c) values[c] = number_at(array.type, array.data.get(), row * width + c);
  const auto better = [&](size_t a, size_t b) {
    if (std::isnan(values[a]) || std::isnan(values[b])) {
      if (std::isnan(values[a]) != std::isnan(values[b])) return std::isnan(values[b]);
      return a < b;
    }
    return values[a] != values[b] ? values[a] > values[b] : a < b;
  };
  const size_t kept = std::min(width, static_cast<size_t>(top));
  std::partial_sort(columns.begin(), columns.begin() + static_cast<int64_t>(kept), columns.end(), better);
  columns.resize(kept);
  return columns;
}

std::string describe_top(const Array& array, const ReportOptions& options, const std::string& indent) {
  const Rows rows = rows_of(array);
  std::string text;
  for (size_t row = 0; row < std::min(rows.count, kRowsShown); ++row) {
    if (rows.count > 1) text += fmt::format("{}row {}\n", indent, row);
    for (const size_t column : best_of_row(array, row, rows.width, options.top))
      text += fmt::format("{}{:>12}  {:>5}{}\n", indent, element_text(array, row * rows.width + column), column,
                          column < options.labels.size() ? "  " + options.labels[column] : "");
  }
  if (rows.count > kRowsShown)
    text += fmt::format("{}{} more rows: --json has them all\n", indent, rows.count - kRowsShown);
  return text;
}

Json top_json(const Array& array, const ReportOptions& options) {
  const Rows rows = rows_of(array);
  Json all = Json::array();
  for (size_t row = 0; row < rows.count; ++row) {
    Json best = Json::array();
    for (const size_t column : best_of_row(array, row, rows.width, options.top)) {
      Json entry{{"index", column}, {"value", element_json(array, row * rows.width + column)}};
      if (column < options.labels.size()) entry["label"] = options.labels[column];
      best.push_back(std::move(entry));
    }
    all.push_back(std::move(best));
  }
  return all;
}

std::string describe_array(const Array& array, const ReportOptions& options, const std::string& indent) {
  std::string text;
  if (has_numbers(array)) {
    const Statistics s = statistics(array);
    if (s.least)
      text += fmt::format("{}min {}  max {}  mean {:.6g}", indent, element_text(array, *s.least),
                          element_text(array, *s.greatest), s.mean);
    if (s.nan) text += fmt::format("{}{} NaN", s.least ? "  " : indent, s.nan);
    if (s.infinite) text += fmt::format("  {} infinite", s.infinite);
    text += '\n';
  }
  if (options.values > 0 && array.count > 0)
    text += fmt::format("{}{}\n", indent, first_elements(array, options.values));
  if (options.top > 0) text += describe_top(array, options, indent);
  return text;
}

// A map's pairs on lines.
std::string describe_map(const Result& map, const ReportOptions& options, const std::string& indent) {
  const Array &keys = map.parts[0].array, &values = map.parts[1].array;
  std::vector<size_t> order(std::min(keys.count, values.count));
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t most = static_cast<size_t>(options.top > 0 ? options.top : options.values);
  if (options.top > 0 && has_numbers(values)) order = best_of_row(values, 0, order.size(), options.top);
  std::string text;
  for (size_t i = 0; i < std::min(order.size(), most); ++i)
    text += fmt::format("{}{}: {}\n", indent, element_text(keys, order[i]), element_text(values, order[i]));
  if (map.parts[0].array.count > std::min(order.size(), most)) text += indent + "...\n";
  return text;
}

Value part_of(const Value& value, size_t i) { return value.part(static_cast<int>(i)); }

struct ReleaseShape {
  void operator()(OrtTensorTypeAndShapeInfo* info) const { ort().ReleaseTensorTypeAndShapeInfo(info); }
};

void take_sparse(const Value& value, Result& result) {
  result.element = value.element_type();
  result.shape = value.shape();
  OrtTensorTypeAndShapeInfo* info = nullptr;
  check(ort().GetSparseTensorValuesTypeAndShape(value.get(), &info));
  const std::unique_ptr<OrtTensorTypeAndShapeInfo, ReleaseShape> owner(info);
  check(ort().GetTensorShapeElementCount(info, &result.stored));
}

}  // namespace

Result take_apart(const std::string& name, Value value) {
  Result result;
  result.name = name;
  int has_value = value ? 1 : 0;
  if (has_value) check(ort().HasValue(value.get(), &has_value));
  if (!has_value) {
    result.empty = true;
    return result;
  }
  result.kind = value.kind();
  if (result.kind == ONNX_TYPE_TENSOR) {
    result.array = from_value(std::make_shared<const Value>(std::move(value)));
  } else if (result.kind == ONNX_TYPE_SPARSETENSOR) {
    take_sparse(value, result);
  } else if (result.kind == ONNX_TYPE_SEQUENCE || result.kind == ONNX_TYPE_MAP) {
    const size_t parts = result.kind == ONNX_TYPE_MAP ? 2 : value.parts();
    for (size_t i = 0; i < parts; ++i) result.parts.push_back(take_apart("", part_of(value, i)));
  }
  return result;
}

std::string type_text(const Result& result) {
  if (result.empty) return "nothing";
  switch (result.kind) {
    case ONNX_TYPE_TENSOR:
      return fmt::format("tensor({})", element_facts(result.array.type).name);
    case ONNX_TYPE_SPARSETENSOR:
      return fmt::format("sparse_tensor({})", element_facts(result.element).name);
    case ONNX_TYPE_SEQUENCE:
      return result.parts.empty() ? "seq" : fmt::format("seq({})", type_text(result.parts[0]));
    case ONNX_TYPE_MAP:
      return fmt::format("map({},{})", element_facts(result.parts[0].array.type).name, type_text(result.parts[1]));
    default:
      return "unknown";
  }
}

std::string describe(const Result& result, const ReportOptions& options, const std::string& indent) {
  std::string text = indent + one_line(result.name) + (result.name.empty() ? "" : "  ") + type_text(result);
  const std::string below = indent + "  ";
  if (result.empty) return text + "\n";
  switch (result.kind) {
    case ONNX_TYPE_TENSOR:
      return text + " " + shape_text(result.array.shape) + "\n" + describe_array(result.array, options, below);
    case ONNX_TYPE_SPARSETENSOR:
      return text + fmt::format(" {}, {} elements stored\n", shape_text(result.shape), result.stored);
    case ONNX_TYPE_MAP:
      return text + fmt::format(", {} entries\n", result.parts[0].array.count) + describe_map(result, options, below);
    case ONNX_TYPE_SEQUENCE:
      text += fmt::format(", {} elements\n", result.parts.size());
      for (size_t i = 0; i < std::min(result.parts.size(), kPartsShown); ++i)
        text += describe(result.parts[i], options, below);
      if (result.parts.size() > kPartsShown)
        text += fmt::format("{}{} more\n", below, result.parts.size() - kPartsShown);
      return text;
    default:
      return text + "\n";
  }
}

Json to_json(const Result& result, const ReportOptions& options) {
  Json json = Json::object();
  if (!result.name.empty()) json["name"] = result.name;
  json["type"] = type_text(result);
  if (result.empty) return json;
  if (result.kind == ONNX_TYPE_SPARSETENSOR) {
    json["shape"] = result.shape;
    json["stored"] = result.stored;
  } else if (result.kind == ONNX_TYPE_SEQUENCE) {
    json["elements"] = Json::array();
    for (const Result& part : result.parts) json["elements"].push_back(to_json(part, options));
  } else if (result.kind == ONNX_TYPE_MAP) {
    json["entries"] = Json::array();  // pairs, since keys may be integers
    const Array &keys = result.parts[0].array, &values = result.parts[1].array;
    for (size_t i = 0; i < std::min(keys.count, values.count); ++i)
      json["entries"].push_back(Json::array({element_json(keys, i), element_json(values, i)}));
  } else if (result.kind == ONNX_TYPE_TENSOR) {
    const Array& array = result.array;
    json["shape"] = array.shape;
    if (has_numbers(array)) {
      const Statistics s = statistics(array);
      json["min"] = s.least ? element_json(array, *s.least) : Json();
      json["max"] = s.greatest ? element_json(array, *s.greatest) : Json();
      json["mean"] = s.least ? number_json(s.mean) : Json();
      json["nan"] = s.nan;
      json["infinite"] = s.infinite;
    }
    json["first"] = Json::array();
    for (size_t i = 0; i < std::min(array.count, static_cast<size_t>(options.values)); ++i)
      json["first"].push_back(element_json(array, i));
    if (options.top > 0 && rows_of(array).count) json["top"] = top_json(array, options);
  }
  return json;
}

void add_entries(const Result& result, const std::string& name, Entries& entries, std::vector<std::string>& notes) {
  if (result.empty) {
    notes.push_back(fmt::format("output '{}' has no value and is not in the file", name));
  } else if (result.kind == ONNX_TYPE_TENSOR) {
    const DataType type = result.array.type, stored = numpy_type(type);
    if (stored != type)
      notes.push_back(fmt::format("output '{}' is stored as {}: numpy has no {}", name, element_facts(stored).name,
                                  element_facts(type).name));
    entries.emplace_back(name, write_npy(result.array));
  } else if (result.kind == ONNX_TYPE_MAP) {
    add_entries(result.parts[0], name + ".keys", entries, notes);
    add_entries(result.parts[1], name + ".values", entries, notes);
  } else if (result.kind == ONNX_TYPE_SEQUENCE) {
    for (size_t i = 0; i < result.parts.size(); ++i)
      add_entries(result.parts[i], fmt::format("{}.{}", name, i), entries, notes);
  } else {
    unusable("output '{}' is a {}, which .npz cannot hold", name, type_text(result));
  }
}

}  // namespace trunnion::cli
