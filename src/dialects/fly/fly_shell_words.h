/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_shell_words.h - a command line as words, without a shell
 *
 * Blanks separate words. 'x' is taken as it stands, in "x" a backslash takes the meaning from
 * the characters that have one there (POSIX: " \ $ ` and the end of a line), outside from any. That is all:
 * no variable, no pattern, no operator, no comment; "a && b" has three words. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_FLY_FLY_SHELL_WORDS_H
#define HF_DIALECTS_FLY_FLY_SHELL_WORDS_H

#include <stddef.h>

#include "base/error.h"

struct fly_words { /* {0}: none */
    const char **list;
    size_t count;
    char *mem; /* what they are made of */
};

/* 0, or a negative errno and err: a quote that does not end, a backslash at the end, too many. */
int fly_words_split(struct fly_words *w, const char *text, struct hf_error *err);
void fly_words_fini(struct fly_words *w); /* in any case */

#endif
