# The ops room. src/ops/<family>/<stem>.cc ends with TRUNNION_OPS(<stem>, rows); this writes the one list of them,
# so that adding an operator touches no other file. src/ops/*.cc is the room's own machinery.
function(trunnion_ops name)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/ops/*/*.cc)
  list(FILTER files EXCLUDE REGEX "_test\\.cc$")
  if(TRUNNION_OPS_FILTER)
    list(FILTER files INCLUDE REGEX "${TRUNNION_OPS_FILTER}")
  endif()
  set(declarations "")
  set(entries "")
  foreach(file ${files})
    get_filename_component(stem ${file} NAME_WE)
    if(stem MATCHES "_detail$")   # shared code of a family, defines no operator
      continue()
    endif()
    string(APPEND declarations "extern const std::span<const OpDef> ${stem}_ops;\n")
    string(APPEND entries "    &${stem}_ops,\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/all_ops.cc @ONLY CONTENT [=[
// Written by cmake/ops.cmake from the file names under src/ops.
#include "ops/catalog.h"

namespace trunnion::ops {
@declarations@
extern const std::span<const OpDef>* const kAllOps[];
extern const size_t kAllOpsCount;
const std::span<const OpDef>* const kAllOps[] = {
@entries@    nullptr};
const size_t kAllOpsCount = sizeof(kAllOps) / sizeof(kAllOps[0]) - 1;
}  // namespace trunnion::ops
]=])
  file(GLOB machinery CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/ops/*.cc)
  list(FILTER machinery EXCLUDE REGEX "_test\\.cc$")
  add_library(trn_${name} STATIC ${machinery} ${files} ${CMAKE_CURRENT_BINARY_DIR}/all_ops.cc)
  target_include_directories(trn_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  foreach(dep ${ARGN})
    target_link_libraries(trn_${name} PUBLIC trn_${dep})
  endforeach()
  trunnion_precompile(trn_${name} <algorithm> <base/error.h> <ops/dispatch.h> <ops/shape.h>)
  trunnion_room_tests(${name})
endfunction()
