/* Arrays of NumPy's files: .npz (a ZIP archive of .npy files, stored or deflated) and .npy.
 *
 *   zip    entries by the central directory at the end of the file; ZIP64, encryption and several disks are refused
 *   npy    "\x93NUMPY", version 1, 2 or 3, a Python dictionary of descr, fortran_order and shape, the numbers;
 *          descr <f4, <f8, any integer up to 8 bytes, |b1, of either byte order
 *
 * Numbers become doubles in C order. Text and objects are left out, and so is what has more than 4 axes. */
#ifndef CAROM_CLI_NPZ_FILE_H
#define CAROM_CLI_NPZ_FILE_H

#include "carom.h"

/* As carom_arrays_read, by the names of the entries without ".npy"; an array `dt` of one number is the time step. */
carom_status npz_read(const char *path, carom_arrays *arrays, carom_error *error);

#endif
