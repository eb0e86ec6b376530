# What `cmake --install` adds for programs that link: CMake packages and pkg-config files under our name and under ONNX
# Runtime's, so that a build that looks for either finds this library. tests/abi/package_test.py uses all four.
include(CMakePackageConfigHelpers)
install(EXPORT onnxruntimeTargets NAMESPACE onnxruntime:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/onnxruntime)

set(package_dir ${CMAKE_CURRENT_BINARY_DIR}/package)
foreach(name onnxruntime trunnion)
  # Packages of ONNX Runtime have its version, which is also that of the ABI; ours has our own.
  set(version ${TRUNNION_ORT_VERSION})
  set(extra "")
  if(name STREQUAL "trunnion")
    set(version ${PROJECT_VERSION})
    set(extra "if(NOT TARGET trunnion::trunnion)\n  add_library(trunnion::trunnion INTERFACE IMPORTED)\n  target_link_libraries(trunnion::trunnion INTERFACE onnxruntime::onnxruntime)\nendif()\n")
  endif()
  file(CONFIGURE OUTPUT ${package_dir}/${name}Config.cmake @ONLY CONTENT
    "include(\"\${CMAKE_CURRENT_LIST_DIR}/../onnxruntime/onnxruntimeTargets.cmake\")\n@extra@")
  write_basic_package_version_file(${package_dir}/${name}ConfigVersion.cmake VERSION ${version} COMPATIBILITY SameMajorVersion)
  install(FILES ${package_dir}/${name}Config.cmake ${package_dir}/${name}ConfigVersion.cmake
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
endforeach()

# Paths relative to the file, so that an installed tree may be moved.
file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
foreach(name libonnxruntime trunnion)
  set(version ${TRUNNION_ORT_VERSION})
  if(name STREQUAL "trunnion")
    set(version ${PROJECT_VERSION})
  endif()
  file(CONFIGURE OUTPUT ${package_dir}/${name}.pc @ONLY CONTENT [=[
prefix=${pcfiledir}/@up@
libdir=${prefix}/@CMAKE_INSTALL_LIBDIR@
includedir=${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: @name@
Description: Inference for ONNX models behind the C ABI of ONNX Runtime
Version: @version@
Libs: -L${libdir} -lonnxruntime
Cflags: -I${includedir}
]=])
  install(FILES ${package_dir}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
