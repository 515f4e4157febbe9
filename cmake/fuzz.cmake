# The libFuzzer program of the scene parser: scene_fuzz [options] CORPUS...
set(CAROM_FUZZ_SOURCE ${PROJECT_SOURCE_DIR}/tests/fuzz/scene_fuzz.c)
if(EXISTS ${CAROM_FUZZ_SOURCE})
  add_executable(scene_fuzz ${CAROM_FUZZ_SOURCE})
  target_include_directories(scene_fuzz PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(scene_fuzz PRIVATE carom_static)
  target_link_options(scene_fuzz PRIVATE -fsanitize=fuzzer)
  set_target_properties(scene_fuzz PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endif()
