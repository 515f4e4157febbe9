#include "base/words.h"

#include "carom.h"

#include <string.h>

enum { LONGEST = 64 };

// Levenshtein's distance: insertions, deletions and substitutions
static int edit_distance(const char *a, int a_length, const char *b, int b_length) {
  int row[LONGEST + 1];
  for (int j = 0; j <= b_length; j++) row[j] = j;
  for (int i = 1; i <= a_length; i++) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= b_length; j++) {
      int best = diagonal + (a[i - 1] != b[j - 1]);
      if (row[j] + 1 < best) best = row[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[b_length];
}

bool words_resemble(const char *text, const char *candidate, int *distance) {
  size_t length = strlen(text), candidate_length = strlen(candidate);
  if (length > LONGEST || candidate_length > LONGEST) return false;
  *distance = edit_distance(text, (int)length, candidate, (int)candidate_length);
  // short words are near to everything
  return *distance <= (length < 5 ? 1 : 2) && *distance < (int)candidate_length;
}

const char *carom_name_nearest(const char *text, const char *const *names) {
  const char *nearest = NULL;
  int least = 3;
  for (int i = 0; text != NULL && names != NULL && names[i] != NULL; i++) {
    int distance = 0;
    if (!words_resemble(text, names[i], &distance) || distance >= least) continue;
    least = distance;
    nearest = names[i];
  }
  return nearest;
}
