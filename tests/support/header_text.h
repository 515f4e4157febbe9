/* The functions that carom.h and its parts declare, read from them as text. */
#ifndef CAROM_TESTS_HEADER_TEXT_H
#define CAROM_TESTS_HEADER_TEXT_H

#include <stdbool.h>

enum { MOST_ARGUMENTS = 16, MOST_FUNCTIONS = 200 };

/* Callbacks are pointers; an out-pointer is a pointer to a pointer. */
typedef enum argument_kind {
  POINTER,
  OUT_POINTER,
  INTEGER,
  ENUMERATION,
  NUMBER,
  OTHER
} argument_kind;

typedef struct argument {
  char name[32];
  char type[40]; /* its last word: "carom_model_options" */
  argument_kind kind;
} argument;

typedef struct function {
  char name[64];
  bool returns_status;
  int count;
  argument arguments[MOST_ARGUMENTS];
} function;

typedef struct function_list {
  int count;
  function functions[MOST_FUNCTIONS];
} function_list;

/* In the order of carom.h. The test fails where it cannot be understood. */
void header_functions(function_list *list);

#endif
