#include "system/assemblies.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { MAX_SHAPE_ENTRIES = 1 << 26 };

// ---- assemblies: union-find over bodies ----

static int find_root(int *parent, int i) {
  while (parent[i] != i) {
    parent[i] = parent[parent[i]];
    i = parent[i];
  }
  return i;
}

// the smaller index becomes the root, so that assemblies are numbered in the order of bodies
static void unite(int *parent, int i, int j) {
  i = find_root(parent, i);
  j = find_root(parent, j);
  if (i < j) parent[j] = i;
  if (j < i) parent[i] = j;
}

static int arm_body(const carom_system *system, const constraint *c, int term) {
  return system->point_body[c->arm.point[term]];
}

// numbers the sets of tied bodies; body_assembly is [body_count]
static int number_assemblies(const carom_system *system, int *parent, int *body_assembly) {
  for (int i = 0; i < system->body_count; i++) parent[i] = i;
  for (int i = 0; i < system->constraint_count; i++) {
    const constraint *c = &system->constraints[i];
    for (int k = 1; k < c->arm.count; k++)
      unite(parent, arm_body(system, c, 0), arm_body(system, c, k));
  }
  int count = 0;
  for (int i = 0; i < system->body_count; i++) {
    int root = find_root(parent, i);
    body_assembly[i] = root == i ? count++ : body_assembly[root];
  }
  return count;
}

// lists the points of each assembly, ascending
static void list_points(carom_system *system, const int *body_assembly) {
  for (int i = 0; i < system->assembly_count; i++) system->assemblies[i] = (assembly){0};
  for (int p = 0; p < system->point_count; p++) {
    int a = body_assembly[system->point_body[p]];
    system->point_assembly[p] = a;
    system->point_in_assembly[p] = system->assemblies[a].point_count++;
  }
  int *list = ARENA_ARRAY(&system->memory, int, system->point_count);
  for (int i = 0; i < system->assembly_count; i++) {
    system->assemblies[i].points = list;
    list += system->assemblies[i].point_count;
  }
  for (int p = 0; p < system->point_count; p++)
    system->assemblies[system->point_assembly[p]].points[system->point_in_assembly[p]] = p;
}

static carom_status check_rows(const carom_system *system, carom_error *error) {
  for (int i = 0; i < system->constraint_count; i++) {
    const constraint *c = &system->constraints[i];
    const assembly *a = &system->assemblies[c->assembly];
    int coordinates = a->point_count * system->dimension;
    if (a->row_count > coordinates)
      return error_set(error, CAROM_INVALID_SCENE,
                       "the bodies tied by %s have %d constraints but only %d coordinates; remove "
                       "constraints that follow from the others",
                       c->label, a->row_count, coordinates);
  }
  return CAROM_OK;
}

carom_status assemblies_make(carom_system *system, carom_error *error) {
  arena *memory = &system->memory;
  int *parent = ARENA_ARRAY(memory, int, system->body_count);
  int *body_assembly = ARENA_ARRAY(memory, int, system->body_count);
  system->assembly_count = number_assemblies(system, parent, body_assembly);
  system->assemblies = ARENA_ARRAY(memory, assembly, system->assembly_count);
  system->point_assembly = ARENA_ARRAY(memory, int, system->point_count);
  system->point_in_assembly = ARENA_ARRAY(memory, int, system->point_count);
  list_points(system, body_assembly);
  for (int i = 0; i < system->constraint_count; i++) {
    constraint *c = &system->constraints[i];
    c->assembly = body_assembly[arm_body(system, c, 0)];
    system->assemblies[c->assembly].row_count += c->row_count;
  }
  return check_rows(system, error);
}

// ---- order: reverse Cuthill-McKee over bodies, constraints follow their bodies ----

// which bodies are tied to which: neighbours of body i stand at start[i] .. start[i + 1] - 1
typedef struct body_graph {
  int *start;     // [body_count + 1]
  int *neighbour; // a pair of bodies tied twice counts twice, which does no harm
} body_graph;

// the two bodies that a constraint ties; false if there is only one
static bool tied_bodies(const carom_system *system, const constraint *c, int *a, int *b) {
  *a = *b = arm_body(system, c, 0);
  for (int k = 1; k < c->arm.count; k++) {
    int other = arm_body(system, c, k);
    if (other != *a) *b = other;
  }
  return *a != *b;
}

static body_graph graph_make(carom_system *system) {
  int n = system->body_count;
  int a, b;
  int *start = ARENA_ARRAY(&system->memory, int, n + 2);
  memset(start, 0, sizeof(int) * (size_t)(n + 2));

  // count, sum up, fill: afterwards start[i + 1] has moved to the end of body i
  for (int i = 0; i < system->constraint_count; i++) {
    if (!tied_bodies(system, &system->constraints[i], &a, &b)) continue;
    start[a + 2]++;
    start[b + 2]++;
  }
  for (int i = 0; i < n; i++) start[i + 2] += start[i + 1];
  int *neighbour = ARENA_ARRAY(&system->memory, int, start[n + 1]);
  for (int i = 0; i < system->constraint_count; i++) {
    if (!tied_bodies(system, &system->constraints[i], &a, &b)) continue;
    neighbour[start[a + 1]++] = b;
    neighbour[start[b + 1]++] = a;
  }
  return (body_graph){.start = start, .neighbour = neighbour};
}

static int degree(const body_graph *graph, int i) { return graph->start[i + 1] - graph->start[i]; }

// appends body and all that hang on it to `order` by breadth, bodies of low degree first; `mark`
// tells which have been seen. returns the number appended
static int breadth_first(const body_graph *graph, int first, int *mark, int seen, int *order) {
  int count = 1;
  order[0] = first;
  mark[first] = seen;
  for (int next = 0; next < count; next++) {
    int begin = count;
    for (int k = graph->start[order[next]]; k < graph->start[order[next] + 1]; k++) {
      int other = graph->neighbour[k];
      if (mark[other] == seen) continue;
      mark[other] = seen;
      order[count++] = other;
    }
    // insertion sort by degree of what this body added, short in any mechanism; long lists stay
    for (int i = begin + 1; i < count && count - begin < 64; i++) {
      int moved = order[i], place = i;
      for (; place > begin && degree(graph, order[place - 1]) > degree(graph, moved); place--)
        order[place] = order[place - 1];
      order[place] = moved;
    }
  }
  return count;
}

// position of every body in the order; rank is [body_count]
static void rank_bodies(carom_system *system, const body_graph *graph, int *rank) {
  arena *memory = &system->memory;
  int n = system->body_count;
  int *mark = ARENA_ARRAY(memory, int, n);
  int *order = ARENA_ARRAY(memory, int, n);
  memset(mark, 0, sizeof(int) * (size_t)n);
  int ranked = 0;
  for (int i = 0; i < n; i++) {
    if (mark[i] == 2) continue;
    // the body reached last is far out, an end of a chain: start from it, and reverse the order
    int count = breadth_first(graph, i, mark, 1, order);
    count = breadth_first(graph, order[count - 1], mark, 2, order);
    for (int k = 0; k < count; k++) rank[order[k]] = ranked + count - 1 - k;
    ranked += count;
  }
}

// sort key of a constraint: assembly, then its later body, then its earlier body, then as it came
typedef struct row_key {
  int assembly, late, early, index;
} row_key;

static int compare_keys(const void *left, const void *right) {
  const row_key *a = left, *b = right;
  if (a->assembly != b->assembly) return a->assembly < b->assembly ? -1 : 1;
  if (a->late != b->late) return a->late < b->late ? -1 : 1;
  if (a->early != b->early) return a->early < b->early ? -1 : 1;
  return a->index < b->index ? -1 : 1;
}

static void sort_constraints(carom_system *system, const int *rank) {
  int count = system->constraint_count;
  row_key *keys = ARENA_ARRAY(&system->memory, row_key, count);
  for (int i = 0; i < count; i++) {
    const constraint *c = &system->constraints[i];
    int a, b;
    tied_bodies(system, c, &a, &b);
    bool a_late = rank[a] > rank[b];
    keys[i] = (row_key){.assembly = c->assembly,
                        .late = rank[a_late ? a : b],
                        .early = rank[a_late ? b : a],
                        .index = i};
  }
  if (count > 0) qsort(keys, (size_t)count, sizeof *keys, compare_keys);
  constraint *sorted = ARENA_ARRAY(&system->memory, constraint, count);
  for (int i = 0; i < count; i++) sorted[i] = system->constraints[keys[i].index];
  system->constraints = sorted;
}

// numbers the rows; the first column of a row is the first row that touches one of its bodies
static carom_status set_shape(carom_system *system, carom_error *error) {
  int *body_row = ARENA_ARRAY(&system->memory, int, system->body_count);
  for (int i = 0; i < system->body_count; i++) body_row[i] = -1;
  system->row_count = 0;
  for (int i = 0; i < system->constraint_count; i++)
    system->row_count += system->constraints[i].row_count;
  int *first = ARENA_ARRAY(&system->memory, int, system->row_count);

  int row = 0;
  int64_t entries = 0;
  for (int i = 0; i < system->constraint_count; i++) {
    constraint *c = &system->constraints[i];
    assembly *whole = &system->assemblies[c->assembly];
    if (i == 0 || c->assembly != system->constraints[i - 1].assembly) whole->first_row = row;
    c->first_row = row;
    int a, b, column = row;
    tied_bodies(system, c, &a, &b);
    if (body_row[a] < 0) body_row[a] = row;
    if (body_row[b] < 0) body_row[b] = row;
    if (body_row[a] < column) column = body_row[a];
    if (body_row[b] < column) column = body_row[b];
    for (int k = 0; k < c->row_count; k++, row++) {
      first[row] = column;
      entries += row - column + 1;
    }
  }
  if (entries > MAX_SHAPE_ENTRIES)
    return error_set(error, CAROM_INVALID_SCENE,
                     "the equality constraints are tied too closely: their matrix would need %lld "
                     "entries, more than %d",
                     (long long)entries, MAX_SHAPE_ENTRIES);
  system->constraint_shape = envelope_make(system->row_count, first, &system->memory);
  return CAROM_OK;
}

carom_status assemblies_order_rows(carom_system *system, carom_error *error) {
  body_graph graph = graph_make(system);
  int *rank = ARENA_ARRAY(&system->memory, int, system->body_count);
  rank_bodies(system, &graph, rank);
  sort_constraints(system, rank);
  return set_shape(system, error);
}
