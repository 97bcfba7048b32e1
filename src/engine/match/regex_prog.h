/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex_prog.h - shared by the regex files only
 *
 * regex_parse.c parses a pattern into a tree (with classes from regex_class.c), regex_build.c turns
 * the tree into states, and regex.c runs the states over bytes. Layer: engine.
 */
#ifndef HF_ENGINE_MATCH_REGEX_PROG_H
#define HF_ENGINE_MATCH_REGEX_PROG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* --- the tree --- */

enum regex_kind {
    REGEX_EMPTY,
    REGEX_CLASS,  /* one character out of ranges[range .. range + range_count) */
    REGEX_ASSERT, /* holds or not, consumes no byte */
    REGEX_CAT,
    REGEX_ALT,
    REGEX_REPEAT, /* its one child, min to max times */
};

enum regex_assert { REGEX_LINE_START, REGEX_LINE_END, REGEX_WORD, REGEX_NOT_WORD };

#define REGEX_ENDLESS 0xFFFF /* max of an unbounded repeat */
#define REGEX_REPEAT_MAX 1000
#define REGEX_DEPTH_MAX 100 /* of groups: bounds the recursion */
#define REGEX_CHAR_MAX 0x10FFFF
#define REGEX_SURROGATE_LO 0xD800
#define REGEX_SURROGATE_HI 0xDFFF

struct regex_node {
    enum regex_kind kind;
    enum regex_assert assertion;
    uint16_t min, max;
    uint32_t child, next; /* first child, next sibling; 0 is none */
    uint32_t range, range_count;
};

struct regex_range {
    uint32_t lo, hi; /* code points, both inside, never a surrogate */
};

/* Node 0 is a placeholder, so that 0 can mean "none". */
struct regex_tree {
    struct regex_node *nodes;
    size_t node_count, node_cap;
    struct regex_range *ranges;
    size_t range_count, range_cap;
    uint32_t root;
};

/* Fills the tree (which starts {0}); 0 or the result of hf_fail(). */
int regex_parse(struct regex_tree *t, const char *pattern, size_t len, struct hf_error *err);
void regex_tree_fini(struct regex_tree *t);

/* A class consists of the ranges added to t->ranges since its length was `from`. */
enum regex_set { REGEX_NOTHING, REGEX_DIGITS, REGEX_WORDS, REGEX_SPACES, REGEX_LINE_ENDS };

void regex_class_add(struct regex_tree *t, uint32_t lo, uint32_t hi); /* lo <= hi */
void regex_class_add_set(struct regex_tree *t, enum regex_set set, bool negate);
void regex_class_finish(struct regex_tree *t, size_t from, bool fold, bool negate);

/* --- the states --- */

enum regex_op {
    REGEX_OP_ACCEPT,
    REGEX_OP_BYTES,  /* consumes a byte along one of edges[a .. a + b) */
    REGEX_OP_SPLIT,  /* continues at a and at b */
    REGEX_OP_ASSERT, /* continues at a if assertion b holds */
};

struct regex_state {
    enum regex_op op;
    uint32_t a, b;
};

/* The edges of one state do not overlap and are in order. */
struct regex_edge {
    uint8_t lo, hi;
    uint16_t to;
};

#define REGEX_EDGES_MAX 65536

struct regex {
    struct regex_state *states; /* [0] is the only accepting one */
    uint32_t state_count;
    struct regex_edge *edges;
    uint32_t edge_count;
    uint32_t start;
    bool first[256];   /* bytes that a match can begin with */
    bool may_be_empty; /* a match may consume no byte: nothing can be skipped */
};

/* How many states regex_build() would make; if more than LIMIT_REGEX_STATES, it makes none. */
uint64_t regex_states_needed(const struct regex_tree *t);
/* Fills states, edges and start; 0 or the result of hf_fail(). */
int regex_build(struct regex *re, const struct regex_tree *t, struct hf_error *err);

#endif
