/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osc.h - what a program sends its terminal besides text: title, directory, prompt marks, bell
 *
 * Recognises OSC 0 and 2 (title), 7 (directory), 133 (shell prompt marks) and BEL in a stream of
 * output, however it is split into chunks. Everything else is skipped at the speed of memchr(). A
 * BEL inside another kind of string does not count as a bell. Pure: bytes in, events out. Layer:
 * term.
 */
#ifndef HF_TERM_OSC_H
#define HF_TERM_OSC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    uint64_t at;    /* offset of the next byte */
    uint64_t start; /* of the open sequence */
    uint8_t state;
    bool cut; /* the text is longer than the buffer */
    uint16_t number, len;
    char text[OSC_TEXT_MAX + 1];
};

void osc_init(struct osc *o, uint64_t at);
/* `fn` is called for each event, in order. */
void osc_feed(struct osc *o, const void *bytes, size_t len, osc_fn *fn, void *arg);
/* A new parser must be fed from this offset on in order to miss nothing. */
uint64_t osc_resume_at(const struct osc *o);

#endif
