/* The subcommands of carom. Each takes its own arguments (argv[0] is "carom NAME") and returns the
 * exit code: 0 success, 1 failed, 2 wrong usage, 130 interrupted. */
#ifndef CAROM_CLI_COMMANDS_H
#define CAROM_CLI_COMMANDS_H

int command_list(int argc, char **argv);
int command_simulate(int argc, char **argv);
int command_gradient(int argc, char **argv);
int command_check(int argc, char **argv);
int command_dataset(int argc, char **argv);
int command_fit(int argc, char **argv);
int command_import(int argc, char **argv);
int command_evaluate(int argc, char **argv);
int command_train(int argc, char **argv);
int command_reproduce(int argc, char **argv);
int command_plan(int argc, char **argv);
int command_view(int argc, char **argv);
int command_render(int argc, char **argv);
int command_solve(int argc, char **argv);
int command_bench(int argc, char **argv);

#endif
