#include "system/builtin_scenes.h"

#include <stddef.h>

#include "carom.h"

int carom_scene_count(void) {
  int count = 0;
  while (builtin_scenes[count].name != NULL) count++;
  return count;
}

const char *carom_scene_name(int index) {
  return index >= 0 && index < carom_scene_count() ? builtin_scenes[index].name : NULL;
}

const char *carom_scene_text(int index) {
  return index >= 0 && index < carom_scene_count() ? builtin_scenes[index].text : NULL;
}
