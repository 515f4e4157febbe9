/* What the files of the cone program share. */
#ifndef CAROM_CONTACT_CONE_INTERNAL_H
#define CAROM_CONTACT_CONE_INTERNAL_H

#include "contact/cone_program.h"

/* The program with bounds below zero (which the cone makes void) set to zero. */
cone_program cone_program_clamped(const cone_program *program, arena *scratch);

#endif
