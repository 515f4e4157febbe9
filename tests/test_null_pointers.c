/* Bad calls of the public interface: every function of carom.h with each of its pointers NULL in
 * turn and with each of its counts and indices negative. What a function makes holds garbage before
 * the call. A function without a row in support/engine_calls.c or learning_calls.c is noticed, and so is a pointer that
 * its row does not pass on. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/files.h"
#include "support/header_text.h"
#include "support/messages.h"
#include "support/public_calls.h"

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
    fail_msg("%s has no row in tests/support/engine_calls.c or learning_calls.c", f->name);
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
      fail_msg("%s has no row in tests/support/engine_calls.c or learning_calls.c",
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

// a call with one bad argument: a message that names a NULL pointer, nothing made
static void expect_refusal(const function *f, const argument *a, int number) {
  trial t = {.name = a->name, .number = number};
  const outcome o = call(f, &t);
  if (!f->returns_status) {
    if (!o.harmless) fail_msg("%s with a bad %s gives something", f->name, a->name);
    return;
  }
  if (o.status == CAROM_OK) fail_msg("%s takes a bad %s (%d)", f->name, a->name, number);
  assert_int_equal(t.error.status, o.status);
  assert_true(strlen(t.error.message) > 0);
  if (a->kind != INTEGER) {
    assert_message(&t.error, CAROM_INVALID_ARGUMENT, f->name);
    assert_message(&t.error, CAROM_INVALID_ARGUMENT, a->name);
  }
  if (a->kind != OUT_POINTER && o.made != NULL)
    fail_msg("%s with a bad %s leaves its out-pointer as it was", f->name, a->name);
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

static void every_count_may_be_negative(void **state) {
  (void)state;
  static const int numbers[] = {-1, INT_MIN};
  for (int i = 0; i < declared.count; i++)
    for (int k = 0; k < declared.functions[i].count; k++)
      for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++)
        if (declared.functions[i].arguments[k].kind == INTEGER)
          expect_refusal(&declared.functions[i], &declared.functions[i].arguments[k], numbers[n]);
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
      cmocka_unit_test(every_function_has_a_row),  cmocka_unit_test(good_calls_are_good),
      cmocka_unit_test(every_pointer_may_be_null), cmocka_unit_test(every_count_may_be_negative),
      cmocka_unit_test(pointers_inside_structs),
  };
  return cmocka_run_group_tests(tests, prepare, put_away);
}
