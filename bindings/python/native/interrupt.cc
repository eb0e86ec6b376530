#include "interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace trunnion::python {
namespace {

// The handler is put in once and stays, so that a run pays two stores for it.
struct sigaction g_before;
std::atomic<bool> g_caught{false};
pthread_t g_main;
pid_t g_process = 0;
std::atomic<OrtRunOptions*> g_run{nullptr};  // what the main thread runs now
std::atomic<bool> g_hit{false};

// The flag is set on the main thread only: it is in the run then, whose options cannot go away under it.
void on_interrupt(int signal) {
  OrtRunOptions* const run = g_run.load();
  if (run && getpid() == g_process && !pthread_equal(pthread_self(), g_main)) {
    pthread_kill(g_main, signal);
    return;
  }
  if (run && pthread_equal(pthread_self(), g_main)) {
    g_hit.store(true);
    (void)ort->RunOptionsSetTerminate(run);
  }
  g_before.sa_handler(signal);
}

bool is_main_thread() { return g_caught.load(std::memory_order_relaxed) && pthread_equal(pthread_self(), g_main); }

// For runs without options. One for all: only the main thread uses it.
OrtRunOptions* own_options() {
  static OrtRunOptions* const options = [] {
    OrtRunOptions* made = nullptr;
    check(ort->CreateRunOptions(&made));
    return made;
  }();
  return options;
}

}  // namespace

void catch_interrupts() {
  const nb::module_ threading = nb::module_::import_("threading"), signals = nb::module_::import_("signal");
  if (!threading.attr("current_thread")().is(threading.attr("main_thread")())) return;
  // Programs with a handler of their own decide for themselves.
  if (!signals.attr("getsignal")(signals.attr("SIGINT")).is(signals.attr("default_int_handler"))) return;
  struct sigaction now {};
  if (sigaction(SIGINT, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) || now.sa_handler == on_interrupt) return;
  if (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) return;
  g_before = now;
  g_main = pthread_self();
  g_process = getpid();
  now.sa_handler = on_interrupt;
  if (sigaction(SIGINT, &now, nullptr) == 0) g_caught.store(true);
}

InterruptibleRun::InterruptibleRun(nb::handle run_options) : given_(nb::borrow(run_options)) {
  const RunOptions* given = nullptr;
  if (!run_options.is_none()) {
    if (!nb::isinstance<RunOptions>(run_options)) throw nb::type_error("run_options must be a RunOptions");
    given = nb::inst_ptr<RunOptions>(run_options);
    options_ = given->handle.get();
    keep_terminate_ = given->terminate;
  }
  if (!is_main_thread()) return;
  if (!options_) options_ = own_options();
  outer_ = g_run.exchange(options_);
  watched_ = true;
}

InterruptibleRun::~InterruptibleRun() {
  if (!watched_) return;
  g_run.store(outer_);
  if (g_hit.exchange(false) && !keep_terminate_) (void)ort->RunOptionsUnsetTerminate(options_);
}

void InterruptibleRun::ended(OrtStatus* status) {
  if (status && watched_ && g_hit.load() && PyErr_CheckSignals() < 0) {
    ort->ReleaseStatus(status);
    throw nb::python_error();
  }
  check(status);
}

}  // namespace trunnion::python
