/* A system with a little data made of it, shared by the tests of a program. */
#ifndef CAROM_TESTS_DATA_FIXTURE_H
#define CAROM_TESTS_DATA_FIXTURE_H

#include "carom.h"

typedef struct data_fixture {
  carom_system *system;
  carom_dataset *data;
} data_fixture;

/* For a group's setup: takes the system over; 0 if all went well. */
int data_fixture_make(carom_system *system, carom_dataset_options options, void **state);

/* For a group's teardown. */
int data_fixture_free(void **state);

#endif
