#include "onnx/file_guess.h"

#include <algorithm>

namespace trunnion::onnx {
namespace {

struct Magic {
  size_t offset;
  std::string_view bytes;
  std::string_view text;
};

using namespace std::string_view_literals;

constexpr Magic kMagics[] = {
    {0, "version https://git-lfs"sv, "a Git LFS pointer: the model itself was not downloaded"},
    {4, "ORTM"sv, "a model in ORT format (.ort)"},
    {4, "TFL3"sv, "a TensorFlow Lite model"},
    {0, "PK\x03\x04"sv, "a ZIP archive (a PyTorch file, or a packed model?)"},
    {0, "\x1f\x8b"sv, "a gzip archive"},
    {0, "\x28\xb5\x2f\xfd"sv, "a Zstandard archive"},
    {0, "\x89HDF\r\n"sv, "an HDF5 file (a Keras model?)"},
    {0, "\x93NUMPY"sv, "a NumPy array"},
    {0, "GGUF"sv, "a GGUF model"},
    {0, "\x80\x02"sv, "a Python pickle (a PyTorch checkpoint?)"},
    {0, "\x80\x04\x95"sv, "a Python pickle"},
    {0,
     "\x7f"
     "ELF"sv,
     "an ELF binary"},
    {0, "%PDF"sv, "a PDF document"},
    {0, "\x89PNG"sv, "a PNG image"},
};

}  // namespace

std::string_view guess_content(Bytes bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Magic& m : kMagics)
    if (text.size() > m.offset && text.substr(m.offset).starts_with(m.bytes)) return m.text;
  const size_t start = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  const size_t first = text.find_first_not_of(" \t\r\n", start);
  if (first == std::string_view::npos) return "nothing but white space";
  if (text[first] == '<') return "an HTML or XML page (a failed download?)";
  if (text[first] == '{' || text[first] == '[') return "JSON text";
  const std::string_view head = text.substr(0, 4096);
  const bool plain = std::all_of(head.begin(), head.end(),
                                 [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\t' || c == '\r' || c == '\n'; });
  if (plain) return "plain text";
  if (std::all_of(head.begin(), head.end(), [](char c) { return c == 0; })) return "nothing but zero bytes";
  return {};
}

}  // namespace trunnion::onnx
