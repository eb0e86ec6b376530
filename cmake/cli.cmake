# The command line `trunnion`: a client of the shared library, which it finds beside itself or in ../lib.
find_path(STB_INCLUDE_DIR stb/stb_image.h REQUIRED)
file(GLOB cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.cc)
add_executable(trunnion ${cli_sources})
target_include_directories(trunnion SYSTEM PRIVATE ${STB_INCLUDE_DIR})
target_link_libraries(trunnion PRIVATE onnxruntime)
set_target_properties(trunnion PROPERTIES
  BUILD_RPATH_USE_ORIGIN ON
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../lib;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(TARGETS trunnion RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT cli)
