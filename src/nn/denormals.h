/* Numbers too small for their exponent ("denormal", below 1e-38 in single precision) cost processors
 * a hundred times as much as others, and a softplus network with large inputs is full of them: slopes
 * e^-x, and their products. Between these calls they count as zero on this thread. */
#ifndef CAROM_NN_DENORMALS_H
#define CAROM_NN_DENORMALS_H

#ifdef __SSE__
#include <xmmintrin.h>

/* Bits of the control register: results, and operands, that are denormal are zero. */
enum { DENORMALS_FLUSHED = 0x8000 | 0x0040 };

static inline unsigned denormals_flush(void) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | DENORMALS_FLUSHED);
  return before;
}

/* Back to what denormals_flush returned. */
static inline void denormals_restore(unsigned before) { _mm_setcsr(before); }

#else

static inline unsigned denormals_flush(void) { return 0; }
static inline void denormals_restore(unsigned before) { (void)before; }

#endif
#endif
