/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_shell_words.c - splits a command line into words. Layer: dialects.
 */
#include "dialects/fly/fly_shell_words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"

#define BLANKS " \t\r\n"

/* Read and write positions: a word is never longer than its text, so one copy holds all words. */
struct split {
    const char *in;
    char *out;
};

static bool is_end(char c)
{
    return c == '\0' || strchr(BLANKS, c) != NULL;
}

static bool single(struct split *s)
{
    const char *end = strchr(s->in, '\'');
    size_t len;

    if (end == NULL)
        return false;
    len = (size_t)(end - s->in);
    memcpy(s->out, s->in, len);
    s->out += len;
    s->in = end + 1;
    return true;
}

static bool double_quoted(struct split *s)
{
    while (*s->in != '"') {
        if (s->in[0] == '\\' && s->in[1] == '\n') {
            s->in += 2;
            continue;
        }
        if (s->in[0] == '\\' && s->in[1] != '\0' && strchr("\"\\$`", s->in[1]) != NULL)
            s->in++;
        if (*s->in == '\0')
            return false;
        *s->out++ = *s->in++;
    }
    s->in++;
    return true;
}

/* The character after a backslash outside of quotes; an escaped newline is dropped. */
static bool escaped(struct split *s)
{
    if (*s->in == '\0')
        return false;
    if (*s->in != '\n')
        *s->out++ = *s->in;
    s->in++;
    return true;
}

static int word(struct split *s, struct hf_error *err)
{
    while (!is_end(*s->in)) {
        char c = *s->in++;

        if (c == '\'' || c == '"') {
            if (!(c == '"' ? double_quoted(s) : single(s)))
                return hf_fail_field(err, HF_E_bad_value, "cmd", "unterminated %c in \"cmd\"", c);
        } else if (c == '\\') {
            if (!escaped(s))
                return hf_fail_field(err, HF_E_bad_value, "cmd", "\"cmd\" ends with a backslash");
        } else {
            *s->out++ = c;
        }
    }
    *s->out++ = '\0';
    return 0;
}

static void skip_blanks(struct split *s)
{
    for (;;) {
        s->in += strspn(s->in, BLANKS);
        if (s->in[0] != '\\' || s->in[1] != '\n')
            return;
        s->in += 2;
    }
}

static int add(struct fly_words *w, const char *text, struct hf_error *err)
{
    if (w->count > LIMIT_ARGS)
        return hf_fail_field(err, HF_E_bad_value, "cmd", "\"cmd\" has more than %d words",
                             LIMIT_ARGS);
    if ((w->count & (w->count - 1)) == 0)
        w->list = hf_xrealloc(w->list, (w->count > 0 ? 2 * w->count : 1) * sizeof *w->list);
    w->list[w->count++] = text;
    return 0;
}

int fly_words_split(struct fly_words *w, const char *text, struct hf_error *err)
{
    struct split s = {.in = text};

    *w = (struct fly_words){.mem = malloc(strlen(text) + 1)};
    if (w->mem == NULL)
        return hf_fail(err, HF_E_no_memory, "out of memory for a command of %zu bytes",
                       strlen(text));
    s.out = w->mem;
    for (skip_blanks(&s); *s.in != '\0'; skip_blanks(&s)) {
        int rc = add(w, s.out, err);

        if (rc < 0 || (rc = word(&s, err)) < 0)
            return rc;
    }
    return 0;
}

void fly_words_fini(struct fly_words *w)
{
    free(w->list);
    free(w->mem);
    *w = (struct fly_words){0};
}
