# Tests of the shared library as a client sees it, and of the header against a published one.
find_package(GTest REQUIRED)
find_package(Python3 COMPONENTS Interpreter)
file(GLOB abi_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/abi/*_test.cc)
add_executable(abi_test ${abi_tests})
target_link_libraries(abi_test PRIVATE onnxruntime GTest::gtest GTest::gtest_main Threads::Threads)
add_test(NAME abi COMMAND abi_test)

# The examples show that the headers serve C and C++17.
add_executable(hello_c ${PROJECT_SOURCE_DIR}/examples/hello.c)
add_executable(hello_cpp ${PROJECT_SOURCE_DIR}/examples/hello.cpp)
set_target_properties(hello_c PROPERTIES C_STANDARD 11)
set_target_properties(hello_cpp PROPERTIES CXX_STANDARD 17)
target_link_libraries(hello_c PRIVATE onnxruntime)
target_link_libraries(hello_cpp PRIVATE onnxruntime)

if(Python3_FOUND)
  add_test(NAME abi_generated COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/gen/ort_abi.py --check)
  add_test(NAME abi_layout COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/abi/layout_test.py)
  set_tests_properties(abi_layout PROPERTIES SKIP_RETURN_CODE 77)
endif()
