#include "contact/contact_group.h"

#include <stdlib.h>
#include <string.h>

enum { REORDER_FROM = 16 /* contacts of an island from which a narrow envelope pays */ };

/* Which assemblies each contact touches and which contacts touch each assembly. */
typedef struct incidence {
  int touched_count;
  int *assembly;      /* [touched_count] */
  int *contact_first; /* [count + 1] */
  int *contact_slots; /* touched assemblies of each contact */
  int *slot_first;    /* [touched_count + 1] */
  int *slot_contacts; /* contacts of each touched assembly */
} incidence;

/* Slots of the touched assemblies of one contact, each once. */
static int list_slots(const carom_system *s, const contact *c, int *slot_of, incidence *in,
                      int *slots) {
  int count = 0;
  for (int k = 0; k < c->point_count; k++) {
    int assembly_index = s->point_assembly[c->point[k]];
    if (slot_of[assembly_index] < 0) {
      slot_of[assembly_index] = in->touched_count;
      in->assembly[in->touched_count++] = assembly_index;
    }
    int slot = slot_of[assembly_index];
    bool seen = false;
    for (int i = 0; i < count; i++) seen = seen || slots[i] == slot;
    if (!seen) slots[count++] = slot;
  }
  return count;
}

static incidence incidence_make(const carom_system *s, int count, const contact *contacts,
                                arena *memory) {
  incidence in = {0};
  int most = count * 4 < s->assembly_count ? count * 4 : s->assembly_count;
  int *slot_of = ARENA_ARRAY(memory, int, s->assembly_count);
  memset(slot_of, -1, sizeof(int) * (size_t)s->assembly_count);
  in.assembly = ARENA_ARRAY(memory, int, most);
  in.contact_first = ARENA_ARRAY(memory, int, count + 1);
  in.contact_slots = ARENA_ARRAY(memory, int, count *MAX_CONTACT_POINTS);
  in.contact_first[0] = 0;
  for (int c = 0; c < count; c++)
    in.contact_first[c + 1] =
        in.contact_first[c] +
        list_slots(s, &contacts[c], slot_of, &in, in.contact_slots + in.contact_first[c]);

  // the same relation from the side of the assemblies
  int total = in.contact_first[count];
  in.slot_first = ARENA_ARRAY(memory, int, in.touched_count + 1);
  in.slot_contacts = ARENA_ARRAY(memory, int, total);
  memset(in.slot_first, 0, sizeof(int) * (size_t)(in.touched_count + 1));
  for (int i = 0; i < total; i++) in.slot_first[in.contact_slots[i] + 1]++;
  for (int i = 0; i < in.touched_count; i++) in.slot_first[i + 1] += in.slot_first[i];
  int *fill = ARENA_ARRAY(memory, int, in.touched_count);
  memcpy(fill, in.slot_first, sizeof(int) * (size_t)in.touched_count);
  for (int c = 0; c < count; c++)
    for (int i = in.contact_first[c]; i < in.contact_first[c + 1]; i++)
      in.slot_contacts[fill[in.contact_slots[i]]++] = c;
  return in;
}

/* Breadth-first order of the contacts reachable from `start`; marks carry `stamp`. */
static int breadth_first(const incidence *in, int start, int stamp, int *contact_mark,
                         int *slot_mark, int *order) {
  int count = 0;
  order[count++] = start;
  contact_mark[start] = stamp;
  for (int head = 0; head < count; head++) {
    int c = order[head];
    for (int i = in->contact_first[c]; i < in->contact_first[c + 1]; i++) {
      int slot = in->contact_slots[i];
      if (slot_mark[slot] == stamp) continue;
      slot_mark[slot] = stamp;
      for (int k = in->slot_first[slot]; k < in->slot_first[slot + 1]; k++) {
        int next = in->slot_contacts[k];
        if (contact_mark[next] == stamp) continue;
        contact_mark[next] = stamp;
        order[count++] = next;
      }
    }
  }
  return count;
}

static int compare_ints(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Fills order with all contacts, island by island. */
static void order_contacts(const incidence *in, int count, contact_group *g, int *order,
                           arena *memory) {
  int *contact_mark = ARENA_ARRAY(memory, int, count);
  int *slot_mark = ARENA_ARRAY(memory, int, in->touched_count);
  memset(contact_mark, 0, sizeof(int) * (size_t)count);
  memset(slot_mark, 0, sizeof(int) * (size_t)in->touched_count);
  int placed = 0, stamp = 0;
  for (int c = 0; c < count; c++) {
    if (contact_mark[c] != 0) continue;
    g->island_first[g->island_count++] = placed;
    int *island = order + placed;
    int size = breadth_first(in, c, ++stamp, contact_mark, slot_mark, island);
    if (size >= REORDER_FROM)
      breadth_first(in, island[size - 1], ++stamp, contact_mark, slot_mark, island);
    else
      qsort(island, (size_t)size, sizeof(int), compare_ints);
    placed += size;
  }
  g->island_first[g->island_count] = placed;
}

contact_group contact_group_make(const carom_system *s, const contact_list *active, const double *x,
                                 arena *memory) {
  int count = active->count;
  contact_group g = {.count = count};
  contact *natural = ARENA_ARRAY(memory, contact, count);
  for (int c = 0; c < count; c++) contact_geometry(s, &active->ids[c], x, &natural[c], memory);
  incidence in = incidence_make(s, count, natural, memory);

  // the order
  int *order = ARENA_ARRAY(memory, int, count);
  int *place = ARENA_ARRAY(memory, int, count);
  g.island_first = ARENA_ARRAY(memory, int, count + 1);
  order_contacts(&in, count, &g, order, memory);
  g.contacts = natural;
  if (count > 1) g.contacts = ARENA_ARRAY(memory, contact, count);
  for (int i = 0; i < count; i++) {
    if (count > 1) g.contacts[i] = natural[order[i]];
    place[order[i]] = i;
    g.contacts[i].first_block = g.block_count;
    g.block_count += g.contacts[i].point_count;
  }

  // contacts of each touched assembly, and the envelope
  g.touched_count = in.touched_count;
  g.touched = ARENA_ARRAY(memory, touched_assembly, in.touched_count);
  g.first_coupled = ARENA_ARRAY(memory, int, count);
  for (int i = 0; i < count; i++) g.first_coupled[i] = i;
  for (int t = 0; t < in.touched_count; t++) {
    int *list = in.slot_contacts + in.slot_first[t];
    int size = in.slot_first[t + 1] - in.slot_first[t];
    for (int i = 0; i < size; i++) list[i] = place[list[i]];
    qsort(list, (size_t)size, sizeof(int), compare_ints);
    g.touched[t] = (touched_assembly){in.assembly[t], size, list};
    for (int i = 0; i < size; i++)
      if (list[0] < g.first_coupled[list[i]]) g.first_coupled[list[i]] = list[0];
  }
  return g;
}
