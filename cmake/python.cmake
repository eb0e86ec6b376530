# The Python module. `trunnion_python` makes <build>/python/trunnion, which PYTHONPATH=<build>/python imports as it stands:
# links to the sources, the extension, and links to the library and, where it is built, to libtrunnion_extras.so. A wheel (pyproject.toml) gets the same by install.
option(TRUNNION_BUILD_PYTHON "Build the Python module (needs nanobind and numpy in Python_EXECUTABLE)" OFF)
if(NOT TRUNNION_BUILD_PYTHON)
  return()
endif()

find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module NumPy)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

set(python_source ${PROJECT_SOURCE_DIR}/bindings/python)
set(python_folder ${PROJECT_BINARY_DIR}/python/trunnion)
file(GLOB python_native CONFIGURE_DEPENDS ${python_source}/native/*.cc)
nanobind_add_module(trunnion_native NB_STATIC NOMINSIZE ${python_native})
target_include_directories(trunnion_native PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(trunnion_native PRIVATE Python::NumPy ${CMAKE_DL_LIBS})
set_target_properties(trunnion_native PROPERTIES OUTPUT_NAME _native LIBRARY_OUTPUT_DIRECTORY ${python_folder})

file(GLOB_RECURSE python_files CONFIGURE_DEPENDS RELATIVE ${python_source}/src/trunnion ${python_source}/src/trunnion/*)
list(FILTER python_files EXCLUDE REGEX "(__pycache__|\\.so)")
file(REMOVE_RECURSE ${python_folder}/_as_onnxruntime)  # what went from the sources goes from the import path too
foreach(file ${python_files})
  get_filename_component(folder ${python_folder}/${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(CREATE_LINK ${python_source}/src/trunnion/${file} ${python_folder}/${file} SYMBOLIC)
endforeach()

add_custom_target(trunnion_python ALL DEPENDS trunnion_native)
install(TARGETS trunnion_native LIBRARY DESTINATION trunnion COMPONENT python)
if(TARGET trunnion_extras)
  add_custom_command(TARGET trunnion_python POST_BUILD COMMAND ${CMAKE_COMMAND} -E create_symlink
    $<TARGET_FILE:trunnion_extras> ${python_folder}/$<TARGET_SONAME_FILE_NAME:trunnion_extras>)
  install(TARGETS trunnion_extras LIBRARY DESTINATION trunnion NAMELINK_SKIP COMPONENT python)
endif()
if(TARGET onnxruntime)
  add_dependencies(trunnion_python onnxruntime)
  add_custom_command(TARGET trunnion_python POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE:onnxruntime> ${python_folder}/libonnxruntime.so.1
    COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE:onnxruntime>
      ${python_folder}/_as_onnxruntime/onnxruntime/capi/libonnxruntime.so.1)
  install(PROGRAMS $<TARGET_FILE:onnxruntime> DESTINATION trunnion RENAME libonnxruntime.so.1 COMPONENT python)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_STRIP)
    install(CODE "execute_process(COMMAND ${CMAKE_STRIP} --strip-unneeded \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/trunnion/libonnxruntime.so.1\")"
      COMPONENT python)
  endif()
endif()
