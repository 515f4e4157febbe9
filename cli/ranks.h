/* The program as one of several ranks (carom/ranks.h): who speaks, who writes, how all end. */
#ifndef CAROM_CLI_RANKS_H
#define CAROM_CLI_RANKS_H

#include <stdbool.h>

/* Joins the other ranks, where a launcher has started some; rank 0 alone speaks from here on. At the end
 * of the program, by whatever way, all ranks end together: one that fails by itself says why and ends the
 * others. `shares`: whether the command can share its work; where it cannot, more than one rank end with
 * wrong usage. Returns an exit code. */
int ranks_join(const char *command, bool shares);

/* Whether this rank writes files: the first, or any that has a task of its own. */
bool ranks_writes(void);

/* Lets the other ranks speak too, or be silent again: around tasks that each does by itself. */
void ranks_speak(bool all);

#endif
