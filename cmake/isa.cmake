# The kernels room. Three kinds of source:
#   x.cc            plain code (dispatch, packing)
#   x.simd.cc       Highway: foreach_target.h compiles it once per target; no ISA flags
#   x_avx2.cc, x_avx512.cc   hand-written intrinsics; compiled with that ISA's flags, may define no weak symbol
set(TRUNNION_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(TRUNNION_FLAGS_avx512 -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512vl -mavx512dq)
set(TRUNNION_FLAGS_avx512vnni ${TRUNNION_FLAGS_avx512} -mavx512vnni)
set(TRUNNION_FLAGS_avx512bf16 ${TRUNNION_FLAGS_avx512} -mavx512bf16)
set(TRUNNION_FLAGS_amx ${TRUNNION_FLAGS_avx512} -mamx-tile -mamx-bf16)

function(trunnion_kernels name)
  trunnion_room(${name} ${ARGN})
  get_target_property(sources trn_${name} SOURCES)
  if(NOT sources)
    return()
  endif()
  # HWY_DISABLE_PCLMUL_AES: x86-64-v2 has no AES, without this the baseline would be the scalar target, not SSE4.
  target_compile_definitions(trn_${name} PRIVATE "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_AVX3_DL)" HWY_DISABLE_PCLMUL_AES)
  target_compile_options(trn_${name} PRIVATE -ftree-vectorize -fvect-cost-model=dynamic)  # plain loops too
  foreach(source ${sources})
    if(source MATCHES "_(avx2|avx512|avx512vnni|avx512bf16|amx)\\.cc$")
      set(isa ${CMAKE_MATCH_1})
      if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        set_source_files_properties(${source} PROPERTIES HEADER_FILE_ONLY ON)
      else()
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${TRUNNION_FLAGS_${isa}};-O3;-ffp-contract=fast;-Wno-psabi")
      endif()
    elseif(source MATCHES "\\.simd\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-O2;-Wno-psabi;-Wno-unused-function;-Wno-ignored-attributes")
    endif()
  endforeach()
endfunction()
