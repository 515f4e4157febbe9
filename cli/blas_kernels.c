#include "cli/blas_kernels.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

extern char *openblas_get_corename(void) __attribute__((weak));

/* Kernels for processors without AVX: what an unknown processor gets. */
static int is_oldest(const char *name) {
  static const char *const oldest[] = {"Prescott", "Core2", "Nehalem", "Generic", "Unknown"};
  for (size_t i = 0; i < sizeof oldest / sizeof oldest[0]; i++)
    if (strcasecmp(name, oldest[i]) == 0) return 1;
  return 0;
}

void use_best_blas_kernels(char **argv) {
#if defined(__x86_64__)
  if (openblas_get_corename == NULL || getenv("OPENBLAS_CORETYPE") != NULL) return;
  if (!is_oldest(openblas_get_corename())) return;
  __builtin_cpu_init();
  const char *kernels = NULL;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    kernels = "SkylakeX";
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    kernels = "Haswell";
  // the variable also keeps the second start from making a third
  if (kernels == NULL || setenv("OPENBLAS_CORETYPE", kernels, 1) != 0) return;
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) return;
  path[length] = '\0';
  execv(path, argv);
#else
  (void)argv;
#endif
}
