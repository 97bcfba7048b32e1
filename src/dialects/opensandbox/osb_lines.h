/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_lines.h - output split into lines, as execd's event streams carry it
 *
 * "\n", "\r" and "\r\n" end a line and are left out. An empty line is sent as "\n", because clients
 * would ignore an empty text. A client that puts a newline only between two texts without one would
 * lose it: for such a client an empty line behind another line is "\n\n" (`wide_blanks`).
 *
 * A line that has not ended is buffered until its rest arrives, until osb_lines_flush(), or until
 * it is LIMIT_OSB_TEXT_BYTES long in JSON. Pieces end between two characters, at places that depend
 * only on the bytes. Pure: bytes in, lines out. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_LINES_H
#define HF_DIALECTS_OPENSANDBOX_OSB_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "dialects/opensandbox/opensandbox_limits.h"

struct lines {
    struct buf part; /* of a line that has not ended */
    size_t json_len; /* at most, of that part in JSON */
    bool wide_blanks;
    bool after_text; /* the last line was not empty */
    bool begun;      /* part of that line has been sent already */
    bool cr;         /* the last byte was a "\r": a following "\n" is the same line end */
};

/* `more`: the line continues in the next call. */
typedef void line_fn(void *arg, const char *text, size_t len, bool more);

void osb_lines_feed(struct lines *l, const char *bytes, size_t len, line_fn *fn, void *arg);
/* How many of these bytes lead to at most one call of osb_lines_feed()'s function. */
size_t osb_lines_piece(const struct lines *l, const char *bytes, size_t len);
/* Sends the buffered part of a line, except for an incomplete character. */
void osb_lines_flush(struct lines *l, line_fn *fn, void *arg);
/* The same at the end of all output: nothing remains. */
void osb_lines_end(struct lines *l, line_fn *fn, void *arg);
/* The buffered part was sent already, by another stream of events; whole: an incomplete character
 * too. */
void osb_lines_reported(struct lines *l, bool whole);
bool osb_lines_holds(const struct lines *l);
void osb_lines_fini(struct lines *l);

#endif
