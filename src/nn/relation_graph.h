/* Who acts on whom in a scene, as an interaction network sees it. Objects are the points of all bodies,
 * and what does not move: planes and places of the world. A relation leads from a sender to a receiver:
 *
 *   balls that may touch    centre of the one -> every point of the other, both ways
 *   body and plane          the plane's point nearest to the body's centre -> every point of the body, and of those
 *                           that joints tie to it (up to 32 points): what the contact's impulse moves
 *   limits (ropes)          every point and place of the limit -> every other of its points
 *   constraints             likewise, their points of different bodies; inside rigid bodies point -> point
 *
 * Of the same two there is one relation for contacts, of the tie with the fewest ends, and one for constraints,
 * however many ties they have. Relations are sorted by receiver. */
#ifndef CAROM_NN_RELATION_GRAPH_H
#define CAROM_NN_RELATION_GRAPH_H

#include "physics/collision.h"

typedef struct relation {
  int receiver;                /* point */
  int sender;                  /* point; -1: something fixed */
  int plane;                   /* that is the sender, or -1: the place is */
  int property;                /* of friction and restitution; -1: a constraint */
  double place[MAX_DIMENSION]; /* of a fixed sender that is no plane */
  int ends;                    /* of the tie that it is of; 2 for bodies */
  contact_id touch;            /* with a property: the contact, or the first of several */
  double arm; /* lengths of its gap: 1; of a bend, whose gap is an angle, a segment's length */
} relation;

typedef struct relation_graph {
  int count;
  relation *items;
} relation_graph;

/* So many relations of one state there can be. */
enum { MAX_RELATIONS = 1000000 };

/* CAROM_INVALID_ARGUMENT for a scene with more, CAROM_OUT_OF_MEMORY; the graph is then empty. */
carom_status relation_graph_make(relation_graph *graph, const carom_system *system,
                                 carom_error *error);
void relation_graph_free(relation_graph *graph);

#endif
