/* make_option_list: every option that has a flag, one on a line: the command whose help has them all,
 * the flag, and a value that is out of its range ("-" for a switch, which takes none). */
#include "carom.h"

#include <stdio.h>

static const struct {
  carom_options of;
  const char *command;
} structs[] = {{CAROM_CONE_OPTIONS, "solve"},          {CAROM_ROLLOUT_OPTIONS, "gradient"},
               {CAROM_DATASET_OPTIONS, "dataset"},     {CAROM_DATASET_OPTIONS, "train"},
               {CAROM_MODEL_OPTIONS, "train"},         {CAROM_TRAINER_OPTIONS, "train"},
               {CAROM_EVALUATION_OPTIONS, "evaluate"}, {CAROM_FIT_OPTIONS, "fit"}};

int main(void) {
  for (size_t k = 0; k < sizeof structs / sizeof structs[0]; k++) {
    for (int index = 0; index < carom_option_count(structs[k].of); index++) {
      const carom_option_info info = carom_option_describe(structs[k].of, index);
      if (info.flag == NULL) continue;
      printf("%s --%s ", structs[k].command, info.flag);
      if (info.kind == CAROM_OPTION_SWITCH)
        puts("-");
      else if (info.kind == CAROM_OPTION_CHOICE)
        puts("none-of-them");
      else
        printf("%g\n", info.low - 1);
    }
  }
  return 0;
}
