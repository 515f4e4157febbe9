/* Reading a scene's JSON with checks. A `scene_node` is a place in the document: its value and the
 * way to it, so that every message can say where ("scene.json:12: bodies[2].mass: ...").
 *
 * Failure is sticky: the first one is kept in the reader, later ones are ignored, and readers of
 * fields then give harmless values. So code that reads a section asks `scene_failed` only where it
 * loops or where a harmless value would not do. */
#ifndef CAROM_SYSTEM_SCENE_FIELD_H
#define CAROM_SYSTEM_SCENE_FIELD_H

#include <jansson.h>
#include <stdbool.h>

#include "system/system.h"

/* What an id of the scene names; all ids share one name space. */
typedef enum name_kind {
  NAME_BODY,
  NAME_CHAIN,
  NAME_PLANE,
  NAME_LIMIT,
  NAME_CONTROL,
  NAME_KIND_COUNT
} name_kind;

typedef struct scene_reader {
  const char *origin; /* names the text in messages */
  const char *text;
  size_t length;
  carom_error *error;
  carom_status status;  /* CAROM_OK until the first failure */
  carom_status failure; /* what a failure is; CAROM_OK: CAROM_INVALID_SCENE */
  carom_system *system;
  json_t *names;                /* id -> kind + NAME_KIND_COUNT * index */
  int shape_point_count;        /* of all bodies so far */
  const limit *limits_as_named; /* limits in the order of their names' indices */
  arena scratch;
} scene_reader;

typedef struct scene_node {
  scene_reader *reader;
  const struct scene_node *parent; /* NULL for the whole document */
  const char *key;                 /* member of an object, or NULL: element of an array */
  int index;
  const json_t *value; /* NULL if absent */
} scene_node;

static inline bool scene_failed(const scene_node *node) { return node->reader->status != CAROM_OK; }

/* Records a failure at a node (the message gets origin, line and path in front). */
void scene_fail(const scene_node *node, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The line on which a node's value stands, counted from 1; of its parent if it is absent. */
int scene_line(const scene_node *node);

/* The text of a node's value, which is there; *length bytes. */
const char *scene_value_text(const scene_node *node, size_t *length);

/* Walking. A member that is absent has value NULL; no failure. */
scene_node scene_member(const scene_node *object, const char *key);
scene_node scene_element(const scene_node *array, int index);
int scene_size(const scene_node *array); /* 0 if absent */

/* Fails unless the node is an object all of whose members are in `known` (ended by NULL). */
void scene_check_object(const scene_node *node, const char *const *known);

/* An array member; absent is fine unless `required`. */
scene_node scene_array(const scene_node *object, const char *key, bool required);

/* Typed members. Those without a default are required. */
double scene_number(const scene_node *object, const char *key);
double scene_number_or(const scene_node *object, const char *key, double otherwise);
double scene_positive(const scene_node *object, const char *key);
double scene_not_negative(const scene_node *object, const char *key, double otherwise);
int scene_integer(const scene_node *object, const char *key, int least, int most);
bool scene_flag(const scene_node *object, const char *key, bool otherwise);
const char *scene_string(const scene_node *object, const char *key);

/* Index in `choices` (ended by NULL) of a string member; 0 if absent and not `required`. */
int scene_choice(const scene_node *object, const char *key, const char *const *choices,
                 bool required);

/* A vector of `count` numbers: of a node, of a required member, of a member that may be absent
 * (zeros). */
void scene_read_vector(const scene_node *node, int count, double *vector);
void scene_vector(const scene_node *object, const char *key, int count, double *vector);
void scene_vector_or_zero(const scene_node *object, const char *key, int count, double *vector);

/* Two numbers, the first not above the second. */
void scene_range(const scene_node *object, const char *key, double *low, double *high);

/* Copies into the system's memory. */
char *scene_copy(scene_reader *reader, const char *text);
char *scene_format(scene_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Ids. `scene_id` reads the member "id", checks its letters and gives a copy ("" on failure).
 * `scene_name` enters a name, failing if it is taken; `scene_lookup` gives the index of what a
 * string node names, -1 (with a failure) if there is no such thing of that kind. */
char *scene_id(const scene_node *object);
void scene_name(const scene_node *node, const char *id, name_kind kind, int index);
int scene_lookup(const scene_node *node, name_kind kind);

/* Text for messages: at most 40 bytes, control characters replaced. */
typedef struct scene_quoted {
  char text[48];
} scene_quoted;
scene_quoted scene_quote(const char *text);

#endif
