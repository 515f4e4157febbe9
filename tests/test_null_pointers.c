/* Bad calls of the public interface: every function of carom.h with each of its pointers NULL in
 * turn, each of its counts and indices negative and as large as can be, each enum none of its values,
 * each double no number, and each field of the options it takes likewise. What a function makes holds
 * garbage before the call. A function without a row in support/engine_calls.c, learning_calls.c or
 * plan_calls.c is noticed, and so is an argument that its row does not pass on. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sys/resource.h>
#include <unistd.h>

#include "contact/cone_options.h"
#include "fit/fit_options.h"
#include "learn/options.h"
#include "plan/plan_options.h"
#include "rollout/rollout_options.h"
#include "support/files.h"
#include "support/header_text.h"
#include "support/messages.h"
#include "support/public_calls.h"

/* Requests that are too large are refused as short memory is, instead of ending the program. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "allocator_may_return_null=1:max_allocation_size_mb=1000";
}

static test_folder folder;
static function_list declared;

static int prepare(void **state) {
  (void)state;
  if (folder_enter(&folder, "null_pointers") != 0) return -1;
  header_functions(&declared);
  public_calls_prepare();
  return 0;
}

static int put_away(void **state) {
  (void)state;
  public_calls_finish();
  return folder_leave(&folder);
}

static bool has_word(const char *words, const char *word) {
  const size_t length = strlen(word);
  for (const char *at = strstr(words, word); at != NULL; at = strstr(at + 1, word))
    if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
  return false;
}

// a declared function; one without a row fails the test
static outcome call(const function *f, trial *t) {
  const public_call *row = public_call_of(f->name);
  if (row == NULL) {
    fail_msg("%s has no row in tests/support/engine_calls.c, learning_calls.c or plan_calls.c",
             f->name);
    return (outcome){.status = CAROM_OK};
  }
  const outcome o = row->try(t);
  if (t->name != NULL && !t->passed)
    fail_msg("the row of %s does not pass on %s", f->name, t->name);
  return o;
}

static bool is_optional(const function *f, const char *name) {
  const public_call *row = public_call_of(f->name);
  return strcmp(name, "error") == 0 || (row != NULL && has_word(row->optional, name));
}

static void every_function_has_a_row(void **state) {
  (void)state;
  assert_true(declared.count > 90);
  for (int i = 0; i < declared.count; i++)
    if (public_call_of(declared.functions[i].name) == NULL)
      fail_msg("%s has no row in tests/support/engine_calls.c, learning_calls.c or plan_calls.c",
               declared.functions[i].name);
  for (int i = 0; public_call_at(i) != NULL; i++) {
    bool found = false;
    for (int k = 0; k < declared.count; k++)
      found = found || strcmp(declared.functions[k].name, public_call_at(i)->function) == 0;
    if (!found) fail_msg("%s is not in carom.h", public_call_at(i)->function);
  }
}

static void good_calls_are_good(void **state) {
  (void)state;
  for (int i = 0; i < declared.count; i++) {
    const function *f = &declared.functions[i];
    trial t = {.name = NULL};
    const outcome o = call(f, &t);
    if (f->returns_status && o.status != CAROM_OK) fail_msg("%s: %s", f->name, t.error.message);
    if (o.made == garbage) fail_msg("%s made nothing", f->name);
  }
}

// an error says so in words and leaves nothing behind
static void check_refusal(const function *f, const argument *a, const trial *t, outcome o) {
  assert_int_equal(t->error.status, o.status);
  assert_true(strlen(t->error.message) > 0);
  if (a->kind != OUT_POINTER && o.made != NULL)
    fail_msg("%s with a bad %s leaves its out-pointer as it was", f->name, a->name);
}

// a call with one bad argument: a message that names a NULL pointer, nothing made
static void expect_refusal(const function *f, const argument *a, double number) {
  trial t = {.name = a->name, .number = number};
  const outcome o = call(f, &t);
  if (!f->returns_status) {
    if (!o.harmless) fail_msg("%s with a bad %s gives something", f->name, a->name);
    return;
  }
  if (o.status == CAROM_OK) fail_msg("%s takes a bad %s (%g)", f->name, a->name, number);
  check_refusal(f, a, &t, o);
  if (a->kind == POINTER || a->kind == OUT_POINTER) {
    assert_message(&t.error, CAROM_INVALID_ARGUMENT, f->name);
    assert_message(&t.error, CAROM_INVALID_ARGUMENT, a->name);
  }
}

// a call with one argument that is large: done or refused, as long as it comes back
static void expect_return(const function *f, const argument *a, double number) {
  trial t = {.name = a->name, .number = number};
  const outcome o = call(f, &t);
  if (!f->returns_status) {
    if (!o.harmless) fail_msg("%s with %s = %g gives something", f->name, a->name, number);
  } else if (o.status != CAROM_OK) {
    check_refusal(f, a, &t, o);
  }
}

static void expect_consent(const function *f, const argument *a) {
  trial t = {.name = a->name};
  const outcome o = call(f, &t);
  if (f->returns_status && o.status != CAROM_OK)
    fail_msg("%s without %s: %s: %s", f->name, a->name, carom_status_text(o.status),
             t.error.message);
}

static void every_pointer_may_be_null(void **state) {
  (void)state;
  for (int i = 0; i < declared.count; i++) {
    const function *f = &declared.functions[i];
    for (int k = 0; k < f->count; k++) {
      const argument *a = &f->arguments[k];
      if (a->kind != POINTER && a->kind != OUT_POINTER) continue;
      if (is_optional(f, a->name))
        expect_consent(f, a);
      else
        expect_refusal(f, a, 0);
    }
  }
}

static bool is_trusted(const function *f, const char *name) {
  const public_call *row = public_call_of(f->name);
  return row != NULL && has_word(row->trusted, name);
}

// every argument of a kind, with each of some numbers
static void spoil_all(argument_kind kind,
                      void (*expect)(const function *, const argument *, double), bool with_trusted,
                      const double *numbers, int count) {
  for (int i = 0; i < declared.count; i++) {
    const function *f = &declared.functions[i];
    for (int k = 0; k < f->count; k++) {
      const argument *a = &f->arguments[k];
      if (a->kind != kind || (!with_trusted && is_trusted(f, a->name))) continue;
      for (int n = 0; n < count; n++) expect(f, a, numbers[n]);
    }
  }
}

static void every_count_may_be_negative(void **state) {
  (void)state;
  spoil_all(INTEGER, expect_refusal, true, (const double[]){-1, INT_MIN}, 2);
}

/* So much may be asked for beside what is there: whoever wants more gets nothing, on every machine.
 * Sanitizers have a limit of their own. */
enum { MOST_BYTES = 1000000000 };
static struct rlimit unlimited;

static int limit_memory(void **state) {
  (void)state;
  if (getrlimit(RLIMIT_AS, &unlimited) != 0) return -1;
#ifdef __SANITIZE_ADDRESS__
  return 0;
#else
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld", &pages) != 1) return -1;
  fclose(file);
  struct rlimit limit = unlimited;
  limit.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + MOST_BYTES;
  return setrlimit(RLIMIT_AS, &limit);
#endif
}

static int lift_limit(void **state) {
  (void)state;
  return setrlimit(RLIMIT_AS, &unlimited);
}

static void every_count_may_be_huge(void **state) {
  (void)state;
  spoil_all(INTEGER, expect_return, false, (const double[]){INT_MAX, INT_MAX - 1, 1 << 30}, 3);
}

static void every_enum_may_be_garbage(void **state) {
  (void)state;
  spoil_all(ENUMERATION, expect_refusal, true, (const double[]){55, -1, INT_MAX, INT_MIN}, 4);
}

static void every_number_may_be_none(void **state) {
  (void)state;
  spoil_all(NUMBER, expect_refusal, true, (const double[]){NAN, -INFINITY}, 2);
  spoil_all(NUMBER, expect_return, true, (const double[]){INFINITY}, 1);
}

/* ---- options --------------------------------------------------------------------------------- */

static const option_table *table_of(const char *type) {
  static const struct {
    const char *type;
    const option_table *table;
  } tables[] = {
      {"carom_cone_options", &cone_option_table},
      {"carom_rollout_options", &rollout_option_table},
      {"carom_dataset_options", &dataset_option_table},
      {"carom_model_options", &model_option_table},
      {"carom_trainer_options", &trainer_option_table},
      {"carom_evaluation_options", &evaluation_option_table},
      {"carom_plan_options", &plan_option_table},
      {"carom_fit_options", &fit_option_table},
  };
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
    if (strcmp(tables[i].type, type) == 0) return tables[i].table;
  return NULL;
}

// out of its range: a message that names the field
static void spoil_field(const function *f, const argument *a, const option_field *field,
                        double number) {
  char place[128];
  snprintf(place, sizeof place, "%s.%s", a->name, field->name);
  if (option_fits(field, number) && is_trusted(f, place)) return;
  trial t = {.name = a->name, .number = number, .field = field};
  const outcome o = call(f, &t);
  if (o.status == CAROM_OK) {
    if (!option_fits(field, number) && !is_trusted(f, place))
      fail_msg("%s takes %s = %g", f->name, place, number);
    return;
  }
  check_refusal(f, a, &t, o);
  if (!option_fits(field, number)) assert_message(&t.error, CAROM_INVALID_ARGUMENT, field->name);
}

static void spoil_fields(const function *f, const argument *a) {
  static const double choices[] = {55, -1, INT_MAX, INT_MIN},
                      numbers[] = {NAN, INFINITY, -INFINITY};
  const option_table *table = table_of(a->type);
  for (int k = 0; table != NULL && k < table->count; k++) {
    const option_field *field = &table->fields[k];
    for (int n = 0; field->kind == CAROM_OPTION_CHOICE && n < 4; n++)
      spoil_field(f, a, field, choices[n]);
    for (int n = 0; field->kind == CAROM_OPTION_NUMBER && n < 3; n++)
      spoil_field(f, a, field, numbers[n]);
    if (field->kind != CAROM_OPTION_INTEGER) continue;
    spoil_field(f, a, field, INT_MIN);
    spoil_field(f, a, field, field->low - 1);
    spoil_field(f, a, field, INT_MAX);
    spoil_field(f, a, field, field->high);
  }
}

static void every_option_may_be_bad(void **state) {
  (void)state;
  int seen = 0;
  for (int i = 0; i < declared.count; i++) {
    const function *f = &declared.functions[i];
    for (int k = 0; k < f->count; k++) {
      if (table_of(f->arguments[k].type) == NULL || is_trusted(f, f->arguments[k].name)) continue;
      spoil_fields(f, &f->arguments[k]);
      seen++;
    }
  }
  assert_true(seen >= 10);
}

// what structs point to
static void pointers_inside_structs(void **state) {
  (void)state;
  carom_error error;
  double f[2], loss;
  for (int k = 0; k < 3; k++) {
    carom_cone_program program = small_program();
    const double **const pointers[] = {&program.A, &program.b, &program.mu};
    *pointers[k] = NULL;
    assert_int_equal(carom_cone_solver_solve(have.solver, &program, NULL, f, NULL, &error),
                     CAROM_INVALID_ARGUMENT);
    assert_message(&error, CAROM_INVALID_ARGUMENT, "carom_cone_solver_solve: A, b or mu");
  }
  for (int k = 0; k < 2; k++) {
    carom_dataset data = *have.dataset;
    double **const pointers[] = {&data.train.x, &data.train.v};
    *pointers[k] = NULL;
    assert_int_equal(carom_model_loss(have.model, &data.train, 1, NULL, &loss, NULL, NULL, &error),
                     CAROM_INVALID_ARGUMENT);
    assert_message(&error, CAROM_INVALID_ARGUMENT,
                   k == 0 ? "carom_model_loss: chunks->x" : "carom_model_loss: chunks->v");
    const carom_trainer_options options = small_trainer_options();
    carom_trainer *trainer = garbage;
    assert_int_equal(carom_trainer_create(have.model, &data, &options, &trainer, &error),
                     CAROM_INVALID_DATA);
    assert_null(trainer);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_function_has_a_row),
      cmocka_unit_test(good_calls_are_good),
      cmocka_unit_test(every_pointer_may_be_null),
      cmocka_unit_test(every_count_may_be_negative),
      cmocka_unit_test_setup_teardown(every_count_may_be_huge, limit_memory, lift_limit),
      cmocka_unit_test(every_enum_may_be_garbage),
      cmocka_unit_test(every_number_may_be_none),
      cmocka_unit_test_setup_teardown(every_option_may_be_bad, limit_memory, lift_limit),
      cmocka_unit_test(pointers_inside_structs),
  };
  return cmocka_run_group_tests(tests, prepare, put_away);
}
