# How every target is compiled. Contracted products (fused multiply-add) and a libm that leaves
# errno alone are worth their speed and change no result beyond rounding; reassociation and
# assumptions about NaN are not allowed.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                    -Wmissing-prototypes -Wstrict-prototypes -Wnull-dereference -Wformat=2 -Wundef
                    -Wvla -Wwrite-strings -Wpointer-arith -ffp-contract=fast -fopenmp-simd
                    -fno-math-errno)
# clang tells when it did not vectorise a loop marked `omp simd`: that is a wish, not an error
if(CMAKE_C_COMPILER_ID MATCHES Clang)
  add_compile_options(-Wno-pass-failed)
endif()
# gcc 12 for arm64 ends in an internal error where it vectorises a largest value (vect_transform_reduction);
# the network's kernels are vectors by themselves
if(CMAKE_C_COMPILER_ID STREQUAL GNU AND CMAKE_C_COMPILER_VERSION VERSION_LESS 13
   AND CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  add_compile_options(-fno-tree-loop-vectorize)
endif()
add_compile_definitions(_GNU_SOURCE)
if(CAROM_WERROR)
  add_compile_options(-Werror)
endif()
if(CAROM_NATIVE)
  add_compile_options(-march=native)
  # gcc 12 says of arrays with an initialiser that they may have none where it has vectorised loops over two or three
  # numbers for some processors (AVX-512 of AMD); builds that are for none in particular keep this warning
  if(CMAKE_C_COMPILER_ID STREQUAL GNU)
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
endif()
if(CAROM_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
if(CAROM_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "CAROM_FUZZ needs clang: use the preset fuzz")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
