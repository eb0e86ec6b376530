#include "feeds.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <new>

#include "failure.h"
#include "file.h"
#include "json_array.h"
#include "npy.h"
#include "tensor_proto.h"

namespace trunnion::cli {
namespace {

enum class FileKind : uint8_t { npy, npz, pb, json, image };

FileKind kind_of(const std::string& path, std::string_view bytes) {
  const auto starts = [&](std::string_view magic) { return bytes.substr(0, magic.size()) == magic; };
  if (starts("\x93NUMPY")) return FileKind::npy;
  if (starts("PK\x03\x04") || starts("PK\x05\x06")) return FileKind::npz;
  const std::string ending = extension(path);
  if (ending == "npy") return FileKind::npy;
  if (ending == "npz") return FileKind::npz;
  if (ending == "pb") return FileKind::pb;
  if (ending == "json") return FileKind::json;
  constexpr std::string_view kPictures[] = {"png", "jpg", "jpeg", "bmp", "gif", "ppm", "pgm", "pnm"};
  if (std::ranges::find(kPictures, ending) != std::end(kPictures)) return FileKind::image;
  if (starts("\x89PNG") || starts("\xff\xd8\xff") || starts("BM") || starts("GIF8")) return FileKind::image;
  unusable("{} is of no kind that can be fed: .npy, .npz, .pb, .json or a picture (png, jpg, bmp, gif, pnm)", path);
}

// Types that come without the wrapper of an optional.
const ValueType& plain(const ValueType& type) {
  return type.kind == ONNX_TYPE_OPTIONAL && type.inside ? *type.inside : type;
}

class FeedMaker {
 public:
  FeedMaker(const LoadedModel& model, const FeedOptions& options)
      : model_(model), options_(options), sizes_(options.sizes) {}

  std::vector<Feed> make() {
    for (const std::string& text : options_.files) add_file(text);
    for (const auto& [name, range] : options_.ranges)
      if (!name.empty() && !find(name)) no_such_input(name);
    for (const auto& [name, shape] : options_.shapes)
      if (!name.empty() && !find(name)) no_such_input(name);
    check_use();
    std::vector<Feed> feeds;
    for (const Port& port : model_.inputs()) {
      if (!made_.contains(port.name)) add_random(port);
      feeds.push_back(std::move(made_.at(port.name)));
    }
    for (const Port& port : model_.overridable())
      if (made_.contains(port.name)) feeds.push_back(std::move(made_.at(port.name)));
    return feeds;
  }

 private:
  // What would have no effect is refused.
  void check_use() const {
    bool random = false;
    for (const Port& port : model_.inputs()) random |= !made_.contains(port.name);
    for (const auto& [name, range] : options_.ranges)
      if (name.empty() ? !random : made_.contains(name))
        bad_usage("--range is for random values: {} from a file",
                  name.empty() ? "every input comes" : fmt::format("input '{}' comes", name));
    for (const auto& [name, shape] : options_.shapes) {
      const auto made = made_.find(name);
      if (name.empty() ? !random && !pictures_ : made != made_.end() && made->second.shape != shape)
        bad_usage("--shape {} is for random values and pictures: {}", shape_text(shape),
                  name.empty() ? "every input comes from a file"
                               : fmt::format("input '{}' is of shape {} {}", name, shape_text(made->second.shape),
                                             made->second.source));
    }
    const ImageOptions& image = options_.image;
    const char* given = !image.mean.empty() ? "--mean" : !image.std.empty() ? "--std" : image.bgr ? "--bgr" : nullptr;
    if (!given && image.scale != 0) given = "--scale";
    if (given && !pictures_) bad_usage("{} is for pictures, and no input is one", given);
  }

  // What --shape gives for a port: that of its name, else the one without a name.
  const Shape* shape_given(const Port& port) const {
    const Shape* found = nullptr;
    for (const std::string& key : {std::string(), port.name})
      for (const auto& [name, given] : options_.shapes)
        if (name == key) found = &given;
    return found;
  }

  const Port* find(std::string_view name) const {
    for (const auto* ports : {&model_.inputs(), &model_.overridable()})
      for (const Port& port : *ports)
        if (port.name == name) return &port;
    return nullptr;
  }

  std::string names() const {
    std::string all;
    for (const Port& port : model_.inputs()) all += (all.empty() ? "" : ", ") + port.name;
    return all.empty() ? "none" : all;
  }

  [[noreturn]] void no_such_input(std::string_view name) const {
    unusable("the model has no input '{}'; its inputs are: {}", name, names());
  }

  // NAME=FILE by the longest input name that fits, since names and paths may hold '='.
  const Port* named(std::string_view text, std::string& path) const {
    const Port* best = nullptr;
    for (const auto* ports : {&model_.inputs(), &model_.overridable()})
      for (const Port& port : *ports)
        if (text.starts_with(port.name) && text.substr(port.name.size()).starts_with('=') &&
            (!best || best->name.size() < port.name.size()))
          best = &port;
    path = best ? text.substr(best->name.size() + 1) : text;
    return best;
  }

  void add_file(const std::string& text) {
    std::string path;
    const Port* port = named(text, path);
    const size_t equals = text.find('=');
    std::error_code ignored;
    if (!port && equals != text.npos && !std::filesystem::exists(path, ignored)) no_such_input(text.substr(0, equals));
    const std::string bytes = read_file(path);
    const FileKind kind = kind_of(path, bytes);
    if (kind == FileKind::npz) return add_npz(port, path, bytes);
    Json json;
    if (kind == FileKind::json) {
      json = parse_json(bytes, path);
      if (!port && json.is_object() && !(model_.inputs().size() == 1 && is_map(model_.inputs()[0]))) {
        for (const auto& [name, value] : json.items()) add_json(port_of(name, path), path, value);
        return;
      }
    }
    if (!port) {
      if (model_.inputs().size() != 1)
        bad_usage("{} could be any of the model's inputs ({}): give it as NAME={}", path, names(), path);
      port = &model_.inputs()[0];
    }
    switch (kind) {
      case FileKind::json:
        return add_json(*port, path, json);
      case FileKind::npy:
        need_tensor(*port, path);
        return add(*port, read_npy(bytes, plain(port->type).element, path), "from " + path, path);
      case FileKind::pb:
        if (plain(port->type).kind == ONNX_TYPE_SEQUENCE)
          return add_sequence(*port, read_sequence_proto(bytes, path), path);
        need_tensor(*port, path);
        return add(*port, read_tensor_proto(bytes, path), "from " + path, path);
      default: {
        need_tensor(*port, path);
        std::string note;
        Port shaped = *port;
        shaped.type = plain(port->type);
        if (const Shape* given = shape_given(*port)) {
          if (shaped.type.has_shape && shaped.type.shape.size() != given->size())
            unusable("--shape {} has {} dimensions, input '{}' has {}", shape_text(*given), given->size(), port->name,
                     shaped.type.shape.size());
          shaped.type.has_shape = true;
          shaped.type.shape = *given;
        }
        ++pictures_;
        Array array = read_image(bytes, shaped, options_.image, path, note);
        return add(*port, std::move(array), fmt::format("from {}: {}", path, note), path);
      }
    }
  }

  const Port& port_of(const std::string& name, const std::string& path) const {
    const Port* port = find(name);
    if (!port) unusable("{} has '{}', which is no input of the model; its inputs are: {}", path, name, names());
    return *port;
  }

  static bool is_map(const Port& port) { return plain(port.type).kind == ONNX_TYPE_MAP; }

  static void need_tensor(const Port& port, const std::string& path) {
    if (plain(port.type).kind != ONNX_TYPE_TENSOR)
      unusable("input '{}' is a {}, which {} cannot hold", port.name, port.type.text(), path);
  }

  void add_npz(const Port* port, const std::string& path, const std::string& bytes) {
    Entries entries = read_npz(bytes, path);
    if (!port && model_.inputs().size() == 1 && plain(model_.inputs()[0].type).kind == ONNX_TYPE_SEQUENCE)
      port = &model_.inputs()[0];
    const auto read = [&](const Port& p, const std::string& key, const std::string& content) {
      return read_npy(content, plain(p.type).element, fmt::format("{} ('{}')", path, key));
    };
    if (!port) {
      for (const auto& [key, content] : entries) {
        const Port& p = port_of(key, path);
        need_tensor(p, path);
        add(p, read(p, key, content), "from " + path, path);
      }
      return;
    }
    if (plain(port->type).kind == ONNX_TYPE_SEQUENCE) {
      std::vector<Array> elements;
      for (const auto& [key, content] : entries) elements.push_back(read(*port, key, content));
      return add_sequence(*port, std::move(elements), path);
    }
    need_tensor(*port, path);
    auto entry = std::ranges::find(entries, port->name, &Entries::value_type::first);
    if (entry == entries.end() && entries.size() == 1) entry = entries.begin();
    if (entry == entries.end())
      unusable("{} has {} arrays, none of them is named '{}'", path, entries.size(), port->name);
    add(*port, read(*port, entry->first, entry->second), "from " + path, path);
  }

  void add_json(const Port& port, const std::string& path, const Json& json) {
    const ValueType& type = plain(port.type);
    const std::string what = fmt::format("{} for input '{}'", path, port.name);
    if (type.kind == ONNX_TYPE_TENSOR)
      return add(port, read_json_array(json, type.element, what), "from " + path, path);
    if (type.kind == ONNX_TYPE_SEQUENCE && type.inside && type.inside->kind == ONNX_TYPE_TENSOR) {
      if (!json.is_array()) unusable("{} is to be a list, an element for each of the sequence", what);
      std::vector<Array> elements;
      for (const Json& element : json) elements.push_back(read_json_array(element, type.inside->element, what));
      return add_sequence(port, std::move(elements), path);
    }
    if (type.kind == ONNX_TYPE_MAP && type.inside) return add_map(port, path, json, what);
    unusable("input '{}' is a {}, which {} cannot hold", port.name, port.type.text(), path);
  }

  void add_map(const Port& port, const std::string& path, const Json& json, const std::string& what) {
    const ValueType& type = plain(port.type);
    if (!json.is_object()) unusable("{} is to be an object of keys and values", what);
    const bool text = element_facts(type.element).kind == ElementKind::text;
    Json keys = Json::array(), values = Json::array();
    for (const auto& [key, value] : json.items()) {
      int64_t number = 0;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
      if (text)
        keys.push_back(key);
      else if (error == std::errc() && end == key.data() + key.size())
        keys.push_back(number);
      else
        unusable("{} needs integers as keys, which '{}' is not", what, key);
      values.push_back(value);
    }
    std::vector<Array> arrays{read_json_array(keys, type.element, what),
                              read_json_array(values, type.inside->element, what)};
    add_composite(port, std::move(arrays), ONNX_TYPE_MAP, path);
  }

  void add_sequence(const Port& port, std::vector<Array> arrays, const std::string& path) {
    const ValueType& type = plain(port.type);
    if (!type.inside || type.inside->kind != ONNX_TYPE_TENSOR)
      unusable("input '{}' is a {}, which {} cannot hold", port.name, port.type.text(), path);
    for (Array& array : arrays) array = convert(array, type.inside->element, path);
    add_composite(port, std::move(arrays), ONNX_TYPE_SEQUENCE, path);
  }

  void add_composite(const Port& port, std::vector<Array> arrays, ONNXType kind, const std::string& path) {
    Feed feed{port.name, port.type.text(), "from " + path, {}, std::move(arrays), {}, {}};
    std::vector<Value> values;
    std::vector<const OrtValue*> pointers;
    for (const Array& array : feed.arrays) {
      values.push_back(to_value(array));
      pointers.push_back(values.back().get());
    }
    OrtValue* made = nullptr;
    check(ort().CreateValue(pointers.data(), pointers.size(), kind, &made));
    feed.value = Value(made);
    store(port, std::move(feed));
  }

  void add(const Port& port, Array array, std::string source, const std::string& what) {
    const ValueType& type = plain(port.type);
    if (array.type != type.element) {
      source += fmt::format(", converted from {}", element_facts(array.type).name);
      array = convert(array, type.element, fmt::format("{} for input '{}'", what, port.name));
    }
    for (size_t i = 0; i < type.symbols.size() && type.symbols.size() == array.shape.size(); ++i) {
      if (type.shape[i] >= 0) continue;
      const std::string dimension = free_dimension(port, i);
      const auto fixed = options_.sizes.find(dimension);
      if (fixed != options_.sizes.end() && fixed->second != array.shape[i])
        unusable("input '{}' is of shape {}, --dim says {}={}", port.name, shape_text(array.shape), dimension,
                 fixed->second);
      sizes_.try_emplace(dimension, array.shape[i]);
    }
    Feed feed{port.name, port.type.text(), std::move(source), array.shape, {}, {}, {}};
    feed.arrays.push_back(std::move(array));
    feed.value = to_value(feed.arrays[0]);
    store(port, std::move(feed));
  }

  void store(const Port& port, Feed feed) {
    if (!made_.emplace(port.name, std::move(feed)).second) bad_usage("input '{}' is given twice", port.name);
  }

  static std::string free_dimension(const Port& port, size_t axis) {
    const std::string& symbol = plain(port.type).symbols[axis];
    return symbol.empty() ? fmt::format("{}.{}", port.name, axis) : symbol;
  }

  void add_random(const Port& port) {
    const ValueType& type = plain(port.type);
    if (type.kind != ONNX_TYPE_TENSOR)
      unusable("input '{}' is a {}, for which there are no random values: give it with --input", port.name,
               port.type.text());
    Range range;
    for (const std::string& wanted : {std::string(), port.name})
      for (const auto& [name, given] : options_.ranges)
        if (name == wanted) range = given;
    std::vector<std::string> assumed;
    const Shape* wanted = shape_given(port);
    if (!wanted && !type.has_shape)
      unusable("input '{}' has no known number of dimensions: give it with --input or --shape", port.name);
    Shape shape = wanted ? *wanted : type.shape;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] >= 0) continue;
      const std::string dimension = free_dimension(port, i);
      const auto known = sizes_.find(dimension);
      shape[i] = known != sizes_.end() ? known->second : 1;
      if (known == sizes_.end() && std::ranges::find(assumed, dimension) == assumed.end()) assumed.push_back(dimension);
    }
    std::string source = fmt::format("random in {:g}:{:g}, seed {}", range.low, range.high, options_.seed);
    for (size_t i = 0; i < assumed.size(); ++i) source += fmt::format("{}{}=1", i ? ", " : ", with ", assumed[i]);
    Array array;
    try {
      array = random_array(type.element, shape, range, options_.seed, port.name);
    } catch (const std::bad_alloc&) {
      const size_t bytes = storage_bytes(type.element, element_count(shape, port.name));
      unusable("out of memory: input '{}' of shape {} takes {}", port.name, shape_text(shape),
               bytes_text(static_cast<double>(bytes)));
    }
    add(port, std::move(array), std::move(source), "");
    made_.at(port.name).assumed = std::move(assumed);
  }

  const LoadedModel& model_;
  const FeedOptions& options_;
  std::map<std::string, Feed> made_;
  int pictures_ = 0;                      // inputs that are one
  std::map<std::string, int64_t> sizes_;  // of free dimensions, from --dim and from what files gave
};

}  // namespace

std::vector<Feed> make_feeds(const LoadedModel& model, const FeedOptions& options) {
  return FeedMaker(model, options).make();
}

std::string describe(const Feed& feed) {
  return fmt::format("{}  {} {} {}", one_line(feed.name), feed.type,
                     feed.arrays.size() == 1 ? shape_text(feed.shape) : "", feed.source);
}

Arguments arguments_of(const std::vector<Feed>& feeds) {
  Arguments a;
  for (const Feed& feed : feeds) {
    a.names.push_back(feed.name.c_str());
    a.values.push_back(feed.value.get());
  }
  return a;
}

}  // namespace trunnion::cli
