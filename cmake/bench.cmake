# bench/x_bench.cc becomes the program build/.../bench/x_bench; `benchmarks` builds them all, the default target none.
# All share the other files of bench/, and the loops with which the command line measures what the machine can do.
file(GLOB benches CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*_bench.cc)
file(GLOB bench_shared CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cc ${PROJECT_SOURCE_DIR}/cli/bench_peak*.cc)
list(REMOVE_ITEM bench_shared ${benches} ${PROJECT_SOURCE_DIR}/bench/abi_run.cc)  # that is a program of its own
find_package(benchmark REQUIRED)
find_package(Threads REQUIRED)
add_library(bench_shared STATIC EXCLUDE_FROM_ALL ${bench_shared})
target_include_directories(bench_shared PUBLIC ${PROJECT_SOURCE_DIR}/bench ${PROJECT_SOURCE_DIR}/cli)
target_link_libraries(bench_shared PUBLIC trn_kernels benchmark::benchmark Threads::Threads)
add_custom_target(benchmarks)
foreach(source ${benches})
  get_filename_component(bench ${source} NAME_WE)
  add_executable(${bench} EXCLUDE_FROM_ALL ${source})
  set_target_properties(${bench} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  # The shared library holds main, which calls the suite's functions and is called by none.
  target_link_libraries(${bench} PRIVATE bench_shared)
  add_dependencies(benchmarks ${bench})
endforeach()
# What the machine can do at most is measured with loops that the compiler is to make as fast as it can.
set_source_files_properties(${PROJECT_SOURCE_DIR}/cli/bench_peak_loops.cc PROPERTIES
  COMPILE_OPTIONS "-O3;-ffp-contract=fast;-Wno-psabi;-Wno-uninitialized;-Wno-maybe-uninitialized")
