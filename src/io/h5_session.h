/* The one way into HDF5. The library is not safe to be called from several threads at once (it may be
 * built so that it is, but then too switches and names are shared): one lock of the process is held
 * from h5_session_begin to h5_session_end, and HDF5's own error printing is off meanwhile. Every use
 * of HDF5, its type constants included, stands between the two; sessions do not nest.
 *
 * A file or an object may stay open between sessions. Calls that the program makes to HDF5 itself are
 * not under this lock (carom.h says so). */
#ifndef CAROM_IO_H5_SESSION_H
#define CAROM_IO_H5_SESSION_H

#include <hdf5.h>

typedef struct h5_session {
  H5E_auto2_t function;
  void *data;
} h5_session;

h5_session h5_session_begin(void);
void h5_session_end(h5_session session);

#endif
