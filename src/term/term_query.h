/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term_query.h - queries that programs send to their terminal, and which viewers may see them
 *
 * A terminal replies to a query by typing. So replayed output must contain no query, or the reply
 * would reach a program that never sent one; and of several terminals that watch one process, only
 * one may see a new query. Queries are blanked with the same number of bytes that do nothing, so
 * offsets do not change. Pure. Layer: term.
 */
#ifndef HF_TERM_TERM_QUERY_H
#define HF_TERM_TERM_QUERY_H

#include "base/buf.h"
#include "term/modes.h"
#include "term/vt.h"

enum query_kind {
    QUERY_NONE,
    QUERY_DA1,
    QUERY_DA2,
    QUERY_STATUS, /* DSR 5 */
    QUERY_CURSOR, /* DSR 6 */
    QUERY_CURSOR_DEC,
    QUERY_MODE, /* DECRQM */
    QUERY_MODE_DEC,
    QUERY_VERSION, /* XTVERSION */
    QUERY_COLOUR,  /* OSC 10, 11, 12 */
    QUERY_OTHER,   /* terminals may reply, we do not */
};

struct query {
    enum query_kind kind;
    int32_t number;    /* of the mode, of the OSC */
    uint8_t end;       /* the byte that ended it */
    uint64_t from, to; /* its bytes, as far as the parser knows */
};

/* The state of a string that arrives in pieces: its number and whether it is a query. */
struct query_string {
    int32_t number; /* of an OSC; -1: none yet, or not one */
    uint8_t place;  /* position in the string, see term_query.c */
    uint8_t is_query;
    uint8_t dcs_is_query;
};

enum query_kind query_of_csi(const struct vt *v, uint32_t id);
enum query_kind query_of_esc(uint32_t id);
void query_string_begin(struct query_string *s, enum vt_string kind, uint32_t id);
void query_string_put(struct query_string *s, const char *bytes, size_t len);
enum query_kind query_string_end(const struct query_string *s);

/* --- blanking -------------------------------------------------------------------- */

struct query_filter {
    struct vt vt;
    struct query_string string;
    bool lost_esc; /* the ESC of an ST was removed, and its backslash is still to come */
};
/* Starts at this offset, with no open token. */
void query_filter_start(struct query_filter *f, uint64_t at);
/*
 * Scans the next bytes. True: `out` has the same number of bytes, with the queries blanked. False:
 * there is no query, and `out` was not touched. keep_focus: requests for focus reports stay;
 * otherwise they are blanked too, because xterm.js replies to them at once.
 */
bool query_filter_run(struct query_filter *f, const char *bytes, size_t len, bool keep_focus,
                      struct buf *out);

/* --- replying --------------------------------------------------------------------- */

/* Writes the reply of our terminal; x and y are the cursor's, from 0. False: there is no reply. */
bool query_write_reply(struct buf *out, const struct query *q, const struct modes *m, int x, int y);
/* Does input begin with a terminal's automatic reply? A few keys look the same (F3 as CSI 1;2R). */
bool query_is_reply(const char *bytes, size_t len);

#endif
