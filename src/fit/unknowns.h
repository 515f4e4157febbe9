/* The unknowns of an identification: which numbers of theta, or of the way data is measured, each
 * one stands for, in which coordinate it is sought, between which bounds, with which prior.
 *
 * The coordinate q of a positive number is its logarithm, of all others the number itself. Several
 * entries of theta may hang on one unknown: in proportion where theta has logarithms, else as
 * coefficient times value. */
#ifndef CAROM_FIT_UNKNOWNS_H
#define CAROM_FIT_UNKNOWNS_H

#include "carom.h"
#include "fit/measure.h"

typedef enum unknown_kind {
  UNKNOWN_LOG,      /* theta has the logarithm of the value: mass, moment */
  UNKNOWN_POSITIVE, /* theta has the value, q its logarithm: stiffness */
  UNKNOWN_LINEAR,   /* theta has the value: friction, restitution, gravity, regularizer */
  UNKNOWN_SCALE,    /* of the data */
  UNKNOWN_SHIFT,    /* of the data, along `axis` */
  UNKNOWN_CENTRE /* of mass of `body`, along its axis `axis`: corners stand at theta_e - value, and
                    what is measured of the body is a point beside its centre */
} unknown_kind;

typedef struct unknown {
  char name[96];
  unknown_kind kind;
  carom_segment segment; /* of theta */
  int axis, body;
  int entry_count;
  int *entries;         /* [entry_count] of theta */
  double *coefficients; /* [entry_count] UNKNOWN_LINEAR: theta_e = coefficient value; UNKNOWN_LOG:
                           theta_e = coefficient + q */
  double start, scene;  /* values */
  double low, high;     /* bounds of the value */
  double prior, prior_deviation; /* of the value; deviation 0: there is none */
  double natural; /* a change of q that is large: what is not known better is not known */
  double
      spread; /* a change of q that predictions feel: half width of a first cloud (fit/horizon.h) */
} unknown;

typedef struct unknown_list {
  const carom_system *system;
  int count;
  unknown *items;
} unknown_list;

carom_status unknowns_parse(const carom_system *system, const char *text, unknown_list *list,
                            carom_error *error);
void unknowns_free(unknown_list *list);

/* Values and coordinates; is the coordinate a logarithm? */
bool unknown_is_logarithmic(const unknown *u);
double unknown_value(const unknown *u, double q);
double unknown_coordinate(const unknown *u, double value);
/* d value / d q at q */
double unknown_slope(const unknown *u, double q);

/* Puts the coordinates q [count] into theta, which holds the scene's values, and into how things
 * are measured, which keeps what is not unknown. */
void unknowns_put(const unknown_list *list, const double *q, double *theta, measure *measured);

/* q_bar [count] of cotangents of theta; what hangs on how things are measured is not in it. */
void unknowns_pull(const unknown_list *list, const double *q, const double *theta_bar,
                   double *q_bar);

/* The cost of priors at q, with its first and second derivative (Gauss and Newton's), of one
 * unknown. Beside the one that was given, each has a weak one that ends WEAK_PRIOR natural units
 * from the start: what the data does not determine stays near there, instead of running away along
 * a valley. */
#define WEAK_PRIOR 3.0
double unknown_prior(const unknown *u, double q, double *slope, double *curvature);
/* The cost of all of them. */
double unknowns_prior(const unknown_list *list, const double *q);

#endif
