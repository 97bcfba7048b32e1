/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_own.h - shared by the files that write snapshots. Layer: term.
 */
#ifndef HF_TERM_SNAPSHOT_OWN_H
#define HF_TERM_SNAPSHOT_OWN_H

#include "term/snapshot.h"
#include "term/term_own.h"

/* The state of the terminal that will read the snapshot, as far as known. */
struct writer {
    struct buf *out;
    const struct term *t;
    struct pen pen;
};

void writer_pen(struct writer *w, const struct pen *wanted);
void writer_plain(struct writer *w); /* the default pen */
void writer_text(struct writer *w, const struct row *r, int col);
/* Writes all lines of a screen, from the cursor's home position on; scrolls where our screen
 * ends, even if the reader's is taller. The cursor may be anywhere afterwards. */
void writer_lines(struct writer *w, const struct grid *g);

#endif
