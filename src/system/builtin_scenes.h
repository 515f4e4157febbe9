/* The scene files of scenes/, compiled in; the table ends with a NULL name. */
#ifndef CAROM_SYSTEM_BUILTIN_SCENES_H
#define CAROM_SYSTEM_BUILTIN_SCENES_H

typedef struct builtin_scene {
  const char *name;
  const char *text;
} builtin_scene;

extern const builtin_scene builtin_scenes[];

#endif
