#include "session/engine_cache.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/os.h"
#include "session/cache_file.h"

namespace trunnion::session {
namespace {

constexpr CacheFormat kFormat = {{'t', 'r', 'n', 'e', 'n', 'g', 'i', 'n'}, 1};
constexpr size_t kBlob = 1024;         // bytes; longer texts are blobs
constexpr int64_t kWaitSeconds = 600;  // unless an option says otherwise
constexpr size_t kMostLooked = 16;     // entries of the same content

std::span<const std::byte> bytes_of(std::string_view s) { return std::as_bytes(std::span(s.data(), s.size())); }

// The body of an index; long texts are numbers of blobs.
struct Body {
  IndexWriter out;
  std::vector<std::string_view> blobs;
  void text(std::string_view s) {
    out.put(static_cast<uint8_t>(s.size() >= kBlob));
    if (s.size() < kBlob) return out.text(s);
    out.put(static_cast<uint64_t>(blobs.size()));
    blobs.push_back(s);
  }
  template <class T>
  void list(const std::vector<T>& items) {
    out.put(static_cast<uint64_t>(items.size()));
    for (const T& item : items) {
      if constexpr (std::is_same_v<T, std::string>)
        text(item);
      else
        out.put(item);
    }
  }
};

struct BodyReader {
  IndexReader in;
  std::vector<std::string_view> blobs;
  bool good = true;
  std::string text() {
    uint8_t blob = 0;
    in.get(blob);
    if (!blob) return in.text();
    const uint64_t at = in.number();
    good = good && at < blobs.size();
    return good ? std::string(blobs[at]) : std::string();
  }
  template <class T>
  std::vector<T> list() {
    std::vector<T> items(in.length(std::is_same_v<T, std::string> ? 1 : sizeof(T)));
    for (T& item : items) {
      if constexpr (std::is_same_v<T, std::string>)
        item = text();
      else
        in.get(item);
    }
    return items;
  }
  bool done() const { return good && in.done(); }
};

Status put_attr(const ir::Attr& a, Body& body) {
  body.text(a.name);
  body.out.put(static_cast<uint8_t>(a.data.index()));
  if (const auto* v = a.get<float>())
    body.out.put(*v);
  else if (const auto* v = a.get<int64_t>())
    body.out.put(*v);
  else if (const auto* v = a.get<std::string>())
    body.text(*v);
  else if (const auto* v = a.get<ir::Attr::Floats>())
    body.list(*v);
  else if (const auto* v = a.get<ir::Attr::Ints>())
    body.list(*v);
  else if (const auto* v = a.get<ir::Attr::Strings>())
    body.list(*v);
  else
    return not_implemented("the attribute '{}' of its node is neither numbers nor text", a.name);
  return {};
}

bool get_attr(BodyReader& in, ir::Attr& a) {
  a.name = in.text();
  uint8_t kind = 0;
  in.in.get(kind);
  switch (static_cast<ir::AttrType>(kind)) {
    case ir::AttrType::f:
      in.in.get(a.data.emplace<float>());
      return true;
    case ir::AttrType::i:
      in.in.get(a.data.emplace<int64_t>());
      return true;
    case ir::AttrType::s:
      a.data = in.text();
      return true;
    case ir::AttrType::floats:
      a.data = in.list<float>();
      return true;
    case ir::AttrType::ints:
      a.data = in.list<int64_t>();
      return true;
    case ir::AttrType::strings:
      a.data = in.list<std::string>();
      return true;
    default:
      return false;
  }
}

void put_fields(const EngineKey& key, IndexWriter& out) {
  out.put(static_cast<uint64_t>(key.fields.size()));
  for (const auto& [name, value] : key.fields) out.text(name), out.text(value);
}

auto get_fields(IndexReader& in) {
  decltype(EngineKey::fields) fields(in.length(2 * sizeof(uint64_t)));
  for (auto& [name, value] : fields) name = in.text(), value = in.text();
  return fields;
}

// The blobs, behind the header and behind each other, with nothing but zeros between them.
Status check_blobs(const CacheFile& file, IndexReader& in, std::vector<std::string_view>& blobs) {
  const auto torn = [] { return error(Code::fail, "the entry is torn: its engine is not whole"); };
  const auto all = file.bytes();
  const auto end = static_cast<uint64_t>(file.index.data() - all.data());
  uint64_t at = CacheFile::kHeaderBytes;
  const auto gap_to = [&](uint64_t next) {
    return next >= at && next <= end && next - at < kBlobAlignment &&
           std::ranges::all_of(all.subspan(at, next - at), [](std::byte b) { return b == std::byte{}; });
  };
  const size_t count = in.length(sizeof(Hash128));
  for (size_t i = 0; i < count; ++i) {
    const uint64_t offset = in.number(), size = in.number();
    Hash128 hash;
    in.get(hash);
    if (!in.ok() || !file.holds(offset, size) || !gap_to(offset)) return torn();
    const auto blob = all.subspan(offset, size);
    if (hash128(blob) != hash) return torn();
    blobs.emplace_back(reinterpret_cast<const char*>(blob.data()), blob.size());
    at = offset + size;
  }
  return gap_to(end) ? Status() : torn();
}

// "'level' was '1', here it is '2'".
std::string difference(const decltype(EngineKey::fields)& there, const decltype(EngineKey::fields)& here, int& count) {
  std::string first;
  const auto value_in = [](const auto& list, const std::string& name) {
    for (const auto& [key, value] : list)
      if (key == name) return fmt::format("'{}'", value);
    return std::string("not given");
  };
  const auto compare = [&](const std::string& name) {
    const std::string a = value_in(there, name), b = value_in(here, name);
    if (a == b) return;
    ++count;
    if (first.empty()) first = fmt::format("{} is {} there, {} here", name, a, b);
  };
  count = 0;
  for (const auto& field : here) compare(field.first);
  for (const auto& field : there)
    if (std::ranges::find(here, field.first, [](const auto& f) { return f.first; }) == here.end()) compare(field.first);
  return first;
}

}  // namespace

Hash128 EngineKey::hash() const {
  Hash128 h = content;
  for (const auto& [name, value] : fields) h = hash_combine(hash_combine(h, hash128(name)), hash128(value));
  return h;
}

std::string EngineKey::file_name() const { return to_hex(content) + "." + to_hex(hash()) + std::string(kEntrySuffix); }

std::unique_ptr<EngineCache> EngineCache::of(const Options& options, const Logger& logger) {
  auto folder = CacheFolder::of(options, logger, "engine cache");
  if (!folder) return nullptr;
  for (const char* key :
       {"ep.context_enable", "ep.context_file_path", "ep.share_ep_contexts", "ep.stop_share_ep_contexts"}) {
    const auto value = options.entry(key).value_or("");
    if (value.empty() || value == "0") continue;
    TRN_LOG(logger, info, "engine cache: not used: {} is given", key);
    return nullptr;
  }
  return std::unique_ptr<EngineCache>(new EngineCache(
      *std::move(folder), options.number("session.cache_wait_seconds", kWaitSeconds), options.cancel_load));
}

Result<Engine> EngineCache::find(const EngineKey& key) const {
  const std::string at = path(key);
  TRN_ASSIGN(const CacheFile file, CacheFile::open(at, kFormat));
  if (file.key != key.hash())
    return error(Code::fail, "the entry is that of another model, provider, device or set of options");
  BodyReader body{IndexReader(file.index), {}};
  IndexReader& in = body.in;
  if (get_fields(in) != key.fields) return error(Code::fail, "the entry was made by something else than it says");
  TRN_TRY(check_blobs(file, in, body.blobs));
  Engine engine;
  engine.nodes.resize(in.length(1));
  for (ep::ContextNode& n : engine.nodes) {
    n.op_type = body.text(), n.domain = body.text(), n.name = body.text();
    n.inputs = body.list<std::string>(), n.outputs = body.list<std::string>();
    n.attrs.resize(in.length(1));
    for (ir::Attr& a : n.attrs)
      if (!get_attr(body, a)) return error(Code::fail, "the entry is torn: its index is not whole");
  }
  engine.files.resize(in.length(1));
  for (EngineFile& f : engine.files) f.name = body.text(), f.content = body.text();
  engine.compatibility = body.text();
  if (!body.done()) return error(Code::fail, "the entry is torn: its index is not whole");
  os::touch(at);
  return engine;
}

std::string EngineCache::nearest(const EngineKey& key) const {
  const auto listed = os::list_folder(folder_.path);
  if (!listed.ok()) return {};
  const std::string start = to_hex(key.content) + ".", own = key.file_name();
  std::string text;
  int least = 0;
  size_t looked = 0;
  for (const auto& e : *listed) {
    if (!e.name.starts_with(start) || !e.name.ends_with(kEntrySuffix) || e.name == own) continue;
    if (looked++ == kMostLooked) break;
    const auto file = CacheFile::open(folder_.file(e.name), kFormat);
    if (!file.ok()) continue;
    IndexReader in(file->index);
    int count = 0;
    std::string first = difference(get_fields(in), key.fields, count);
    if (first.empty() || (least && count >= least)) continue;
    least = count;
    text = std::move(first);
  }
  return text;
}

Status EngineCache::store(const EngineKey& key, const Engine& engine) const {
  Body body;
  body.out.put(static_cast<uint64_t>(engine.nodes.size()));
  for (const ep::ContextNode& n : engine.nodes) {
    body.text(n.op_type), body.text(n.domain), body.text(n.name);
    body.list(n.inputs), body.list(n.outputs);
    body.out.put(static_cast<uint64_t>(n.attrs.size()));
    for (const ir::Attr& a : n.attrs) TRN_TRY(put_attr(a, body));
  }
  body.out.put(static_cast<uint64_t>(engine.files.size()));
  for (const EngineFile& f : engine.files) body.text(f.name), body.text(f.content);
  body.text(engine.compatibility);
  uint64_t bytes = 0;
  for (const auto blob : body.blobs) bytes += blob.size();
  if (bytes > folder_.max_bytes)
    return error(Code::fail, "{} bytes of engines are more than the limit of {}", bytes, folder_.max_bytes);
  TRN_TRY(os::make_folder(folder_.path));
  TRN_ASSIGN(CacheFileWriter out, CacheFileWriter::create(path(key)));
  IndexWriter index;
  put_fields(key, index);
  index.put(static_cast<uint64_t>(body.blobs.size()));
  for (const auto blob : body.blobs) {
    TRN_ASSIGN(const uint64_t at, out.add(bytes_of(blob)));
    index.put(at), index.put(static_cast<uint64_t>(blob.size())), index.put(hash128(blob));
  }
  index.append(body.out);
  TRN_TRY(out.commit(kFormat, key.hash(), index));
  TRN_LOG(folder_.logger, info, "engine cache: written, {} ({} bytes of engines)", path(key), bytes);
  folder_.trim(key.file_name());
  return {};
}

EngineCache::Turn EngineCache::wait(const EngineKey& key) const {
  Turn turn;
  if (!os::make_folder(folder_.path).ok()) return turn;
  const std::string at = path(key) + std::string(kLockSuffix);
  const int64_t begin = os::monotonic_ns();
  for (;;) {
    auto lock = os::FileLock::try_take(at);
    if (!lock.ok()) return turn;
    if (*lock) {
      turn.lock.emplace(*std::move(*lock));
      return turn;
    }
    if (!turn.waited)
      TRN_LOG(folder_.logger, info, "engine cache: another session makes {}: waiting for it, {} s at most", path(key),
              seconds_);
    turn.waited = true;
    if ((os::monotonic_ns() - begin) / 1'000'000'000 >= seconds_) {
      TRN_LOG(folder_.logger, warning,
              "engine cache: another session makes {} and is not done after {} s: not waited for", path(key), seconds_);
      return turn;
    }
    if (cancel_ && cancel_->load()) return turn;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

Result<std::unique_ptr<EngineFolder>> EngineFolder::make(const CacheFolder& in) {
  static std::atomic<unsigned> counter{0};
  TRN_TRY(os::make_folder(in.path));
  for (;;) {
    std::string path = in.file(fmt::format("{}.{}{}", os::process_id(), counter++, kWorkSuffix));
    TRN_ASSIGN(auto lock, os::FileLock::try_take(path + std::string(kLockSuffix)));
    if (!lock) continue;
    (void)os::remove_folder(path);  // of a process that had the same number
    TRN_TRY(os::make_folder(path));
    return std::unique_ptr<EngineFolder>(new EngineFolder(std::move(path), *std::move(lock)));
  }
}

EngineFolder::~EngineFolder() { (void)os::remove_folder(path_); }

}  // namespace trunnion::session
