/* Files with one cone program (JSON), written when a solve fails and read to replay it.
 *
 *   {
 *     "carom_cone_program": 1,        version of this format
 *     "contact_count": 2,             m >= 0
 *     "dimension": 2,                 d = 1, 2 or 3
 *     "A": [[...], ...],              C rows of C numbers, C = m d; the lower triangle counts
 *     "b": [...],                     C numbers
 *     "mu": [...],                    m numbers >= 0
 *     "lower": [...]                  m numbers >= 0; may be absent: zeros
 *   }
 *
 * Numbers have 17 digits, so that what is read is what was written, bit for bit. A program may have
 * failed because of a number that is not finite: these are the texts "nan", "inf", "-inf". */
#ifndef CAROM_IO_CONE_FILE_H
#define CAROM_IO_CONE_FILE_H

#include "carom.h"

#endif
