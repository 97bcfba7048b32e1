/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_shell_words.h - splits a command line into words, without a shell
 *
 * Blanks separate words. 'x' is literal. In "x" a backslash escapes the characters that are special
 * there (POSIX: " \ $ ` and newline); outside of quotes it escapes any character. That is all: no
 * variables, patterns, operators or comments; "a && b" has three words. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_FLY_FLY_SHELL_WORDS_H
#define HF_DIALECTS_FLY_FLY_SHELL_WORDS_H

#include <stddef.h>

#include "base/error.h"

struct fly_words { /* {0}: none */
    const char **list;
    size_t count;
    char *mem; /* the text that they point into */
};

/* 0, or a negative errno and err: an unterminated quote, a trailing backslash, too many words. */
int fly_words_split(struct fly_words *w, const char *text, struct hf_error *err);
void fly_words_fini(struct fly_words *w); /* call in any case */

#endif
