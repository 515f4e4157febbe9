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
add_compile_definitions(_GNU_SOURCE)
if(CAROM_WERROR)
  add_compile_options(-Werror)
endif()
if(CAROM_NATIVE)
  add_compile_options(-march=native)
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
