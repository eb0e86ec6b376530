// trunnion._native: the engine's C ABI for Python. What users see is made of it in trunnion/*.py.
#define TRN_IMPORT_NUMPY
#include "engine.h"
#include "numpy_api.h"

namespace {
int import_numpy() {
  import_array1(-1);
  return 0;
}
}  // namespace

NB_MODULE(_native, m) {
  if (import_numpy() < 0) throw nanobind::python_error();
  nanobind::set_leak_warnings(false);
  trunnion::python::add_environment(m);
  trunnion::python::add_values(m);
  trunnion::python::add_options(m);
  trunnion::python::add_session(m);
  trunnion::python::add_io_binding(m);
  trunnion::python::add_devices(m);
  trunnion::python::add_sparse(m);
  trunnion::python::add_extras(m);
}
