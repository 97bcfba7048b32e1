/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term_query.h - what a program asks its terminal, and who must not hear it
 *
 * A terminal answers a query by typing. So output that is shown again must
 * hold none, or the answer would reach a program that never asked; and of several
 * terminals that watch one process only one may hear a new one. Queries are blanked out by
 * as many bytes that do nothing, so offsets stay what they are. Pure. Layer: term.
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
    QUERY_OTHER,   /* terminals may answer, we do not */
};

struct query {
    enum query_kind kind;
    int32_t number;    /* of the mode, of the OSC */
    uint8_t end;       /* the byte that ended it */
    uint64_t from, to; /* its bytes, as far as the parser knows */
};

/* What is read of a string, one piece after the other: its number and whether it asks. */
struct query_string {
    int32_t number; /* of an OSC; -1: none yet, or not one */
    uint8_t place;  /* in the string, see term_query.c */
    uint8_t asks;
    uint8_t dcs_asks;
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
    bool lost_esc; /* the ESC of an ST was taken out, and its backslash is to come */
};
/* At this offset, with nothing open. */
void query_filter_start(struct query_filter *f, uint64_t at);
/*
 * Looks through the next bytes. True: `out` has them, as many, with the queries
 * in them blanked. False: there is none, and out was not touched.
 * keep_focus: "tell me about your focus" is left as it is; otherwise it goes too, because
 * xterm.js answers that at once.
 */
bool query_filter_run(struct query_filter *f, const char *bytes, size_t len, bool keep_focus,
                      struct buf *out);

/* --- answering -------------------------------------------------------------------- */

/* What our terminal says; x and y are the cursor's, from 0. False: nothing. */
bool query_answer(struct buf *out, const struct query *q, const struct modes *m, int x, int y);
/* Does input begin with what a terminal says by itself? A few keys look the same (F3 as CSI 1;2R). */
bool query_is_answer(const char *bytes, size_t len);

#endif
