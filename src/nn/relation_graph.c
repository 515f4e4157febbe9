#include "nn/relation_graph.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A graph that grows, and what kept it from growing on. */
typedef struct graph_builder {
  const carom_system *system;
  relation_graph *graph;
  int capacity;
  carom_status status;
} graph_builder;

/* Twins are removed at the end; a scene whose limits all tell the same has a few for each. */
enum { MAX_CANDIDATES = 4 * MAX_RELATIONS };

static void add(graph_builder *b, relation r) {
  relation_graph *g = b->graph;
  if (b->status != CAROM_OK) return;
  if (g->count == MAX_CANDIDATES) {
    b->status = CAROM_INVALID_ARGUMENT;
    return;
  }
  if (g->count == b->capacity) {
    const int wanted = b->capacity > 0 ? 2 * b->capacity : 256;
    relation *longer = realloc(g->items, sizeof(relation) * (size_t)wanted);
    if (longer == NULL) {
      b->status = CAROM_OUT_OF_MEMORY;
      return;
    }
    g->items = longer;
    b->capacity = wanted;
  }
  g->items[g->count++] = r;
}

// from a point to all points of a body
static void add_to_body(graph_builder *b, const body *receiver, relation r) {
  for (int k = 0; k < receiver->point_count; k++) {
    r.receiver = receiver->first_point + k;
    add(b, r);
  }
}

/* Relations of every body of a chain with every contact of it grow with the square of its length: no more points
 * than these are tied together. */
enum { MAX_TIED = 32 };

// from a point to all points of a body and of those that joints tie to it
static void add_to_tied(graph_builder *b, int receiver, relation r) {
  const carom_system *s = b->system;
  const int home = s->point_assembly[s->bodies[receiver].first_point];
  if (home < 0 || s->assemblies[home].point_count > MAX_TIED) {
    add_to_body(b, &s->bodies[receiver], r);
    return;
  }
  const assembly *tied = &s->assemblies[home];
  for (int k = 0; k < tied->point_count; k++) {
    r.receiver = tied->points[k];
    add(b, r);
  }
}

static void add_pairs(graph_builder *b) {
  const carom_system *s = b->system;
  for (int i = 0; s->pair_contacts && i < s->body_count; i++) {
    for (int j = i + 1; s->bodies[i].shape == SHAPE_BALL && j < s->body_count; j++) {
      const body *one = &s->bodies[i], *other = &s->bodies[j];
      if (other->shape != SHAPE_BALL) continue;
      relation r = {.plane = -1, .property = system_pair_property(s, i, j), .ends = 2, .arm = 1};
      r.touch = (contact_id){CONTACT_PAIR, i, j, 0, r.property};
      r.sender = other->first_point;
      add_to_body(b, one, r);
      r.sender = one->first_point;
      add_to_body(b, other, r);
      if (b->status != CAROM_OK) return;
    }
  }
}

static void add_planes(graph_builder *b) {
  const carom_system *s = b->system;
  for (int i = 0; i < s->body_count; i++)
    for (int k = 0; s->bodies[i].shape != SHAPE_NONE && k < s->plane_count; k++) {
      relation r = {.sender = -1,
                    .plane = k,
                    .property = system_plane_property(s, i, k),
                    .ends = 2,
                    .arm = 1};
      const bool ball = s->bodies[i].shape == SHAPE_BALL;
      r.touch = (contact_id){ball ? CONTACT_BALL_PLANE : CONTACT_POINT_PLANE, i, k, 0, r.property};
      add_to_tied(b, i, r);
    }
}

/* Ends of a tie: the points that it hangs on, and a place of the world. */
typedef struct tie {
  int count;
  int point[2 * MAX_COMBINATION_POINTS];
  bool fixed;
  double place[MAX_DIMENSION];
} tie;

/* An arm is the difference of two ends, whose weights sum to 1 each: a sum that is not 0 says that the
 * other end is fixed, at -constant / sum. */
static void tie_add(tie *t, const combination *arm, int dimension) {
  double sum = 0;
  for (int k = 0; k < arm->count; k++) {
    sum += arm->weight[k];
    if (arm->weight[k] != 0) t->point[t->count++] = arm->point[k];
  }
  if (fabs(sum) < 0.5) return;
  t->fixed = true;
  for (int i = 0; i < dimension; i++) t->place[i] = -arm->constant[i] / sum;
}

// each end to each other one, as `like` has the rest; points of one body only if `internal`
static void add_tie(graph_builder *b, const tie *t, relation like, bool internal) {
  const int *of = b->system->point_body;
  for (int i = 0; i < t->count; i++) {
    relation r = like;
    r.receiver = t->point[i];
    r.sender = r.plane = -1;
    r.ends = t->count + t->fixed;
    memcpy(r.place, t->place, sizeof r.place);
    if (t->fixed) add(b, r);
    memset(r.place, 0, sizeof r.place);
    for (int j = 0; j < t->count; j++) {
      r.sender = t->point[j];
      const bool apart = of[r.receiver] != of[r.sender];
      if (r.sender != r.receiver && (apart || internal)) add(b, r);
    }
  }
}

static bool same_segment(const combination *a, const combination *b) {
  if (a->count != b->count) return false;
  for (int k = 0; k < a->count; k++)
    if (a->point[k] != b->point[k] || a->weight[k] != b->weight[k]) return false;
  return true;
}

/* The length of the segment before a bend, where the scene bounds it on both sides; else 1. */
static double bend_arm(const carom_system *s, const limit *bend) {
  for (int k = 0; k < s->limit_count; k++) {
    const limit *of = &s->limits[k];
    if (of->kind == LIMIT_STRETCH && isfinite(of->high) && of->low > 0 &&
        same_segment(&of->segment, &bend->segment))
      return (of->low + of->high) / 2;
  }
  return 1;
}

static void add_limits(graph_builder *b) {
  const carom_system *s = b->system;
  for (int k = 0; k < s->limit_count; k++) {
    const limit *l = &s->limits[k];
    const relation like = {.property = l->property,
                           .touch = {CONTACT_LIMIT, k, 0, 0, l->property},
                           .arm = l->kind == LIMIT_BEND ? bend_arm(s, l) : 1};
    tie ends = {0};
    tie_add(&ends, &l->segment, s->dimension);
    if (l->kind == LIMIT_BEND) tie_add(&ends, &l->next_segment, s->dimension);
    add_tie(b, &ends, like, false);
  }
}

static void add_constraints(graph_builder *b) {
  const carom_system *s = b->system;
  for (int k = 0; k < s->constraint_count; k++) {
    tie ends = {0};
    tie_add(&ends, &s->constraints[k].arm, s->dimension);
    add_tie(b, &ends, (relation){.property = -1}, s->constraints[k].internal_of >= 0);
  }
}

/* Order: receiver, contacts before constraints, sender. Equal ones are twins. */
static int compare_ends(const relation *a, const relation *b) {
  const int left[] = {a->receiver, a->property < 0, a->sender, a->plane,
                      a->plane >= 0 ? a->touch.first : 0};
  const int right[] = {b->receiver, b->property < 0, b->sender, b->plane,
                       b->plane >= 0 ? b->touch.first : 0};
  for (int k = 0; k < 5; k++)
    if (left[k] != right[k]) return left[k] < right[k] ? -1 : 1;
  for (int i = 0; i < MAX_DIMENSION; i++)
    if (a->place[i] != b->place[i]) return a->place[i] < b->place[i] ? -1 : 1;
  return 0;
}

// of twins the one whose tie has the fewest ends is first, then the one with the least property
static int compare(const void *a, const void *b) {
  const relation *left = a, *right = b;
  const int order = compare_ends(left, right);
  if (order != 0) return order;
  if (left->ends != right->ends) return left->ends < right->ends ? -1 : 1;
  return (left->property > right->property) - (left->property < right->property);
}

static void remove_twins(relation_graph *g) {
  if (g->count == 0) return;
  qsort(g->items, (size_t)g->count, sizeof(relation), compare);
  int kept = 1;
  for (int k = 1; k < g->count; k++)
    if (compare_ends(&g->items[k], &g->items[kept - 1]) != 0) g->items[kept++] = g->items[k];
  g->count = kept;
}

carom_status relation_graph_make(relation_graph *graph, const carom_system *system,
                                 carom_error *error) {
  *graph = (relation_graph){0};
  graph_builder b = {.system = system, .graph = graph, .status = CAROM_OK};
  add_pairs(&b);
  add_planes(&b);
  add_limits(&b);
  add_constraints(&b);
  if (b.status == CAROM_OK) remove_twins(graph);
  if (b.status == CAROM_OK && graph->count <= MAX_RELATIONS) return CAROM_OK;
  relation_graph_free(graph);
  if (b.status == CAROM_OUT_OF_MEMORY)
    return error_set(error, b.status, "no memory for the relations of an interaction network");
  return error_set(error, CAROM_INVALID_ARGUMENT,
                   "an interaction network of this scene has more than %d relations between points "
                   "of bodies, planes and places; mlp-cd-clnn has none",
                   MAX_RELATIONS);
}

void relation_graph_free(relation_graph *graph) {
  free(graph->items);
  *graph = (relation_graph){0};
}
