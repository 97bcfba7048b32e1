/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_lines.h - output cut into lines, as execd's event streams carry it
 *
 * "\n", "\r" and "\r\n" end a line and are left out; an empty line is told as "\n", because
 * an empty text would be taken for none. A line that has not ended is held until its
 * rest comes, until osb_lines_flush(), or until it is LIMIT_OSB_LINE_BYTES long. Pieces end between two
 * characters. Pure: bytes in, lines out. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_LINES_H
#define HF_DIALECTS_OPENSANDBOX_OSB_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct lines {
    struct buf part; /* of a line that has not ended */
    bool begun;      /* some of that line has been told already */
    bool cr;         /* the last byte was a "\r": a "\n" behind it is the same line end */
};

/* `more`: the line goes on in what is told next. */
typedef void line_fn(void *arg, const char *text, size_t len, bool more);

void osb_lines_feed(struct lines *l, const char *bytes, size_t len, line_fn *fn, void *arg);
/* Tells what is held of a line, but for a character that is not complete. */
void osb_lines_flush(struct lines *l, line_fn *fn, void *arg);
/* The same at the end of all output: nothing stays. */
void osb_lines_end(struct lines *l, line_fn *fn, void *arg);
/* What is held was told already, by another stream of events; whole: an incomplete character too. */
void osb_lines_told(struct lines *l, bool whole);
bool osb_lines_holds(const struct lines *l);
void osb_lines_fini(struct lines *l);

#endif
