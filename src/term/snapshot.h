/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.h - the bytes that make a fresh terminal look like this one
 *
 * They reset the terminal, then write the scrollback, the screen (both screens while the alternate
 * one is active), tab stops, regions, saved cursors, character sets, modes, the title and the
 * cursor, so that whatever the program writes next has the same effect as on the original. In a
 * taller terminal they fill its upper part, with the same scrollback above it. They contain no
 * query, so no terminal replies to them. Pure. Layer: term.
 */
#ifndef HF_TERM_SNAPSHOT_H
#define HF_TERM_SNAPSHOT_H

#include "base/buf.h"
#include "term/term.h"

/* title: NULL if none. The terminal must have no open token, or the reader continues at its
 * start (vt.h). */
void snapshot_write(struct buf *out, const struct term *t, const char *title);

/* For drawings of the screen: the SGR sequence that changes the default pen to this one. */
void snapshot_put_pen(struct buf *out, const struct pen *p);
struct pen snapshot_cell_pen(const struct row *r, int col);

#endif
