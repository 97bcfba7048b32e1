/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osc.h - what a program sends its terminal besides text: title, directory, prompt marks, bell
 *
 * Recognises OSC 0 and 2 (title), 7 (directory), 133 (shell prompt marks) and BEL in a stream of
 * output, however it is split into chunks. A BEL inside a sequence or a string does not count as a
 * bell. Pure: bytes in, events out. Layer: term.
 */
#ifndef HF_TERM_OSC_H
#define HF_TERM_OSC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "term/vt.h"

#define OSC_NUMBER_MAX 4 /* digits */
#define OSC_TEXT_MAX 511 /* a longer title is cut at a character; a longer directory is ignored */

enum osc_kind { OSC_TITLE, OSC_CWD, OSC_MARK, OSC_BELL };

struct osc_event {
    enum osc_kind kind;
    const char *text; /* OSC_TITLE: as sent; OSC_CWD: the path, decoded; ends with NUL */
    size_t len;
    char mark;           /* OSC_MARK: A prompt, B input, C output, D done */
    int exit_code;       /* OSC_MARK D: 0..255, or -1 if missing */
    uint64_t start, end; /* absolute offsets of the sequence */
};
typedef void osc_fn(void *arg, const struct osc_event *e);

struct osc {
    struct vt vt;            /* vt.at: offset of the next byte */
    uint64_t start, text_at; /* of the last string, and of what it contains */
    bool is_osc;             /* it is an OSC, and was not cancelled */
    uint16_t len;            /* of `text` */
    /* Its first bytes as sent: number, ';', and one more than a text has, to see that it is cut. */
    char text[OSC_NUMBER_MAX + 1 + OSC_TEXT_MAX + 1];
};

void osc_init(struct osc *o, uint64_t at);
/* `fn` is called for each event, in order. */
void osc_feed(struct osc *o, const void *bytes, size_t len, osc_fn *fn, void *arg);
/* A new parser must be fed from this offset on in order to miss nothing. */
uint64_t osc_resume_at(const struct osc *o);

#endif
