#include "bench_measure.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "bench_statistics.h"

namespace trunnion::cli {
namespace {

constexpr size_t kMostCalls = 2'000'000;

size_t uncounted(double first_ms) { return first_ms > 100 ? 1 : 3; }

// A copy of a tensor's bytes; nothing for text, sequences and maps.
std::vector<std::byte> copy_of(const Value& value) {
  if (!value || value.kind() != ONNX_TYPE_TENSOR) return {};
  const DataType type = value.element_type();
  if (element_facts(type).bits == 0) return {};
  void* data = nullptr;
  check(ort().GetTensorMutableData(const_cast<OrtValue*>(value.get()), &data));
  std::vector<std::byte> bytes(storage_bytes(type, element_count(value.shape())));
  if (!bytes.empty()) std::memcpy(bytes.data(), data, bytes.size());
  return bytes;
}

}  // namespace

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Progress::Progress() : on_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (on_) std::fputs("\r\033[K", stderr);
}

void Progress::show(const std::string& text) {
  if (!on_ || now_seconds() - shown_ < 0.1) return;
  stage(text);
}

void Progress::stage(const std::string& text) {
  if (!on_) return;
  shown_ = now_seconds();
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

std::vector<double> time_calls(const std::function<void()>& run, double seconds, size_t least,
                               const std::function<void(double share, size_t calls)>& tell) {
  std::vector<double> times;
  size_t warm = 0;
  const double begun = now_seconds();
  double told = begun;
  for (size_t i = 0; i < kMostCalls; ++i) {
    const double start = now_seconds();
    run();
    const double end = now_seconds();
    const double ms = (end - start) * 1e3;
    if (i == 0) warm = uncounted(ms);
    if (i >= warm) times.push_back(ms);
    const double spent = end - begun;
    if (spent > seconds && times.size() >= least) break;
    if (end - told > 0.1) {
      told = end;
      tell(spent / seconds, times.size());
    }
  }
  return times;
}

Callers many_callers(const LoadedModel& model, const Arguments& arguments, int callers, double seconds) {
  Callers result;
  result.count = callers;
  std::mutex mutex;
  std::exception_ptr failure;
  std::atomic<bool> counting{false}, stop{false};
  std::atomic<int> warm{0};
  const auto call = [&] {
    std::vector<double> times;
    try {
      for (int i = 0; i < 3 && !stop; ++i) static_cast<void>(model.run(arguments.names, arguments.values));
      ++warm;
      while (!stop) {  // calls go on while others are still warming up: they are to be under load too
        const bool counted = counting;
        const double start = now_seconds();
        static_cast<void>(model.run(arguments.names, arguments.values));
        if (counted && !stop) times.push_back((now_seconds() - start) * 1e3);
      }
    } catch (...) {
      const std::lock_guard guard(mutex);
      if (!failure) failure = std::current_exception();
      stop = true;
    }
    const std::lock_guard guard(mutex);
    result.times.insert(result.times.end(), times.begin(), times.end());
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < callers; ++i) threads.emplace_back(call);
  while (warm < callers && !stop) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const double begun = now_seconds();
  counting = true;
  while (now_seconds() - begun < seconds && !stop) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  stop = true;
  const double spent = now_seconds() - begun;
  for (std::thread& t : threads) t.join();
  if (failure) std::rethrow_exception(failure);
  std::ranges::sort(result.times);
  result.runs_per_second = static_cast<double>(result.times.size()) / spent;
  return result;
}

Around around_a_run(const LoadedModel& model, const std::vector<Feed>& feeds) {
  constexpr int kTimes = 21;
  Around around;
  const Arguments arguments = arguments_of(feeds);
  const std::vector<Value> results = model.run(arguments.names, arguments.values);
  std::vector<double> feeding, fetching;
  for (int i = 0; i < kTimes; ++i) {
    double start = now_seconds();
    std::vector<Value> values;
    for (const Feed& feed : feeds)
      if (feed.arrays.size() == 1) values.push_back(to_value(feed.arrays[0]));
    feeding.push_back((now_seconds() - start) * 1e3);
    start = now_seconds();
    size_t bytes = 0;
    for (const Value& value : results) bytes += copy_of(value).size();
    fetching.push_back((now_seconds() - start) * 1e3);
    if (bytes > (size_t{256} << 20)) break;
  }
  around.feed_ms = median(feeding);
  around.fetch_ms = median(fetching);
  return around;
}

}  // namespace trunnion::cli
