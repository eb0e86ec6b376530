// numpy's C API. Every source includes it through this header; module.cc alone defines TRN_IMPORT_NUMPY and imports it.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL trunnion_numpy_api
#ifndef TRN_IMPORT_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
