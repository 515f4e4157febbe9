#include "nn/kernels.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

extern const nn_kernels kernels_generic;
#ifdef CAROM_X86_KERNELS
extern const nn_kernels kernels_avx2, kernels_avx512;

static bool has_avx2(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void) {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#endif
#ifdef __aarch64__
extern const nn_kernels kernels_neon;
#endif

const nn_kernels *kernels_at(int index) {
  const nn_kernels *found[4] = {NULL};
  int count = 0;
#ifdef CAROM_X86_KERNELS
  __builtin_cpu_init();
  if (has_avx512()) found[count++] = &kernels_avx512;
  if (has_avx2()) found[count++] = &kernels_avx2;
#endif
#ifdef __aarch64__
  found[count++] = &kernels_neon;
#endif
  found[count++] = &kernels_generic;
  return index >= 0 && index < count ? found[index] : NULL;
}

static const nn_kernels *_Atomic chosen = NULL;

const nn_kernels *kernels_in_use(void) {
  const nn_kernels *kernels = atomic_load_explicit(&chosen, memory_order_relaxed);
  return kernels != NULL ? kernels : kernels_choose(NULL);
}

const nn_kernels *kernels_choose(const char *name) {
  for (int i = 0;; i++) {
    const nn_kernels *candidate = kernels_at(i);
    if (candidate == NULL) return NULL;
    if (name != NULL && strcmp(candidate->name, name) != 0) continue;
    atomic_store_explicit(&chosen, candidate, memory_order_relaxed);
    return candidate;
  }
}
