# The command line `trunnion`: a client of the shared library, which it finds beside itself or in ../lib.
find_path(STB_INCLUDE_DIR stb/stb_image.h REQUIRED)
file(GLOB cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.cc)
add_executable(trunnion ${cli_sources})
target_include_directories(trunnion SYSTEM PRIVATE ${STB_INCLUDE_DIR})
find_package(Threads REQUIRED)
target_link_libraries(trunnion PRIVATE onnxruntime Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(trunnion PROPERTIES
  BUILD_RPATH_USE_ORIGIN ON
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../lib;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(TARGETS trunnion RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT cli)
# What the machine can do at most is measured with loops that the compiler is to make as fast as it can.
set_source_files_properties(${PROJECT_SOURCE_DIR}/cli/bench_peak_loops.cc PROPERTIES
  COMPILE_OPTIONS "-O3;-ffp-contract=fast;-Wno-psabi;-Wno-uninitialized;-Wno-maybe-uninitialized")
