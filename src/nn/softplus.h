/* softplus(a) = log(1 + e^a) and its derivative, the logistic function, over arrays. Branch-free, so
 * that compilers make vector code of it; within 2 ulp of the exact values. */
#ifndef CAROM_NN_SOFTPLUS_H
#define CAROM_NN_SOFTPLUS_H

/* h = softplus(a), s = logistic(a) */
void softplus_double(int count, const double *a, double *h, double *s);
void softplus_single(int count, const float *a, float *h, float *s);

#endif
