/* OpenBLAS picks its kernels by the name of the processor when it is loaded, and takes the slowest for
 * one that is newer than itself. */
#ifndef CAROM_CLI_BLAS_KERNELS_H
#define CAROM_CLI_BLAS_KERNELS_H

/* Where it has done so, starts the program again with OPENBLAS_CORETYPE set to the best kernels that
 * the processor's instructions allow. Returns if there is nothing to gain, or if it cannot. */
void use_best_blas_kernels(char **argv);

#endif
