# The libFuzzer program of the scene parser: scene_fuzz [options] CORPUS...
set(CAROM_FUZZ_SOURCE ${PROJECT_SOURCE_DIR}/tests/fuzz/scene_fuzz.c)
if(EXISTS ${CAROM_FUZZ_SOURCE})
  # what the parser is made of: the rest of the library takes minutes to compile for it
  file(GLOB CAROM_FUZZED CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/base/*.c ${PROJECT_SOURCE_DIR}/src/system/*.c)
  list(FILTER CAROM_FUZZED EXCLUDE REGEX "base/rank_wire_mpi[.]c$")
  add_library(carom_fuzzed STATIC EXCLUDE_FROM_ALL ${CAROM_FUZZED})
  target_include_directories(carom_fuzzed PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(carom_fuzzed PUBLIC OpenMP::OpenMP_C PkgConfig::JANSSON PkgConfig::HDF5 PkgConfig::OPENBLAS m)
  add_executable(scene_fuzz ${CAROM_FUZZ_SOURCE})
  target_link_libraries(scene_fuzz PRIVATE carom_fuzzed)
  target_link_options(scene_fuzz PRIVATE -fsanitize=fuzzer)
  set_target_properties(scene_fuzz PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endif()
