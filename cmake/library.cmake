# libonnxruntime.so.1: the whole engine behind the ONNX Runtime C ABI. Only the symbols of src/abi/exports.map leave it.
option(TRUNNION_SYMBOL_VERSIONS "Give OrtGetApiBase the symbol version of every ONNX Runtime release that clients link against" ON)

# Released versions x.y.z; a linked client asks for exactly its own, and the loader fails hard on one that is missing.
set(TRUNNION_ORT_VERSION 1.32.0)
set(TRUNNION_ORT_RELEASES "")
foreach(minor RANGE 14 32)
  foreach(patch RANGE 0 3)
    list(APPEND TRUNNION_ORT_RELEASES 1.${minor}.${patch})
  endforeach()
endforeach()

file(GLOB_RECURSE abi_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/abi/*.cc)
list(FILTER abi_sources EXCLUDE REGEX "_test\\.cc$")
add_library(onnxruntime SHARED ${abi_sources})
set_target_properties(onnxruntime PROPERTIES
  VERSION ${TRUNNION_ORT_VERSION}
  SOVERSION 1)
set(check_handles OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(check_handles ON)
endif()
option(TRUNNION_CHECK_HANDLES "Look up every handle that a client gives; on in debug builds" ${check_handles})
target_compile_definitions(onnxruntime PRIVATE TRUNNION_VERSION="${PROJECT_VERSION}" $<$<BOOL:${TRUNNION_CHECK_HANDLES}>:TRN_CHECK_HANDLES=1>)
target_include_directories(onnxruntime PRIVATE ${PROJECT_SOURCE_DIR}/src INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
find_package(Threads REQUIRED)
if(TARGET trunnion_extras)
  add_dependencies(onnxruntime trunnion_extras)  # not linked: loaded on first use, from the same folder
endif()
target_link_libraries(onnxruntime PRIVATE trn_session trn_onnx trn_run trn_plan trn_ep trn_passes trn_ops trn_ir trn_schema
  trn_kernels trn_tensor trn_base Threads::Threads ${CMAKE_DL_LIBS})

if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  # Every alias is a function of its own name, given its version with .symver.
  set(map "")
  set(aliases "")
  set(previous "")
  if(TRUNNION_SYMBOL_VERSIONS)
    foreach(release ${TRUNNION_ORT_RELEASES})
      string(REPLACE "." "_" suffix ${release})
      if(release STREQUAL TRUNNION_ORT_VERSION)
        continue()
      endif()
      string(APPEND map "VERS_${release} {};\n")
      string(APPEND aliases "TRN_ALIASES(${suffix}, \"VERS_${release}\")\n")
    endforeach()
    string(APPEND map "VERS_${TRUNNION_ORT_VERSION} { global: OrtGetApiBase; OrtSessionOptionsAppendExecutionProvider_CPU; TrunnionGetApi; local: *; };\n")
  else()
    set(map "{ global: OrtGetApiBase; OrtSessionOptionsAppendExecutionProvider_CPU; TrunnionGetApi; local: *; };\n")
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/exports.map @ONLY CONTENT "@map@")
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/symbol_versions.cc @ONLY CONTENT [=[
// Written by cmake/library.cmake: one alias of each exported function for every release that clients link against.
#include "trunnion/ort_abi.h"

#define TRN_ALIAS(function, suffix, version) __asm__(".symver " #function "_" #suffix "," #function "@" version);
#define TRN_ALIASES(suffix, version)                                                                              \
  extern "C" __attribute__((visibility("default"))) const OrtApiBase* OrtGetApiBase_##suffix() noexcept {         \
    return OrtGetApiBase();                                                                                       \
  }                                                                                                               \
  extern "C" __attribute__((visibility("default"))) OrtStatus* OrtSessionOptionsAppendExecutionProvider_CPU_##suffix( \
      OrtSessionOptions* options, int use_arena) {                                                                \
    return OrtSessionOptionsAppendExecutionProvider_CPU(options, use_arena);                                      \
  }                                                                                                               \
  TRN_ALIAS(OrtGetApiBase, suffix, version)                                                                       \
  TRN_ALIAS(OrtSessionOptionsAppendExecutionProvider_CPU, suffix, version)

@aliases@
]=])
  target_sources(onnxruntime PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/symbol_versions.cc)
  target_link_options(onnxruntime PRIVATE -Wl,--version-script=${CMAKE_CURRENT_BINARY_DIR}/exports.map -Wl,-z,defs -Wl,-z,now
    -Wl,--gc-sections -Wl,--exclude-libs,ALL)
  set_property(TARGET onnxruntime APPEND PROPERTY LINK_DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/exports.map)
endif()

include(GNUInstallDirs)
install(TARGETS onnxruntime EXPORT onnxruntimeTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
include(${PROJECT_SOURCE_DIR}/cmake/package.cmake)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/trunnion DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_STRIP)
  install(CODE "execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-unneeded \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libonnxruntime.so.${TRUNNION_ORT_VERSION}\")")
endif()

if(TRUNNION_BUILD_TESTS)
  include(${PROJECT_SOURCE_DIR}/cmake/abi_tests.cmake)
endif()
