/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_frame.c - decodes the text frames of a terminal's client. Layer: dialects.
 */
#include "dialects/opensandbox/osb_frame.h"

#include <signal.h>
#include <string.h>

#include "base/limits.h"

static void bad(struct frame *f, const char *wrong)
{
    f->kind = FRAME_BAD;
    f->wrong = wrong;
}

static void decode_stdin(struct frame *f)
{
    const json_t *data = json_object_get(f->tree, "data");

    if (!json_is_string(data)) {
        bad(f, "stdin requires the string data");
        return;
    }
    f->kind = FRAME_STDIN;
    f->data = json_string_value(data);
    f->len = json_string_length(data);
}

/* A zero, or no size at all, changes nothing; an impossible size is not clamped to another. */
static void decode_resize(struct frame *f)
{
    int64_t rows = json_integer_value(json_object_get(f->tree, "rows"));
    int64_t cols = json_integer_value(json_object_get(f->tree, "cols"));

    if (rows > TERMINAL_SIZE_MAX || cols > TERMINAL_SIZE_MAX) {
        bad(f, "cols and rows must be at most 4096");
        return;
    }
    f->kind = FRAME_RESIZE;
    if (rows > 0 && cols > 0) {
        f->rows = rows;
        f->cols = cols;
    }
}

static void decode_signal(struct frame *f)
{
    static const struct {
        const char *name;
        int signum;
    } known[] = {
        {"SIGINT", SIGINT},   {"SIGTERM", SIGTERM}, {"SIGKILL", SIGKILL},
        {"SIGQUIT", SIGQUIT}, {"SIGHUP", SIGHUP},
    };
    const char *name = json_string_value(json_object_get(f->tree, "signal"));

    for (size_t i = 0; name != NULL && i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0) {
            f->kind = FRAME_SIGNAL;
            f->signum = known[i].signum;
            return;
        }
    bad(f, "signal must be one of SIGINT, SIGTERM, SIGKILL, SIGQUIT and SIGHUP");
}

void osb_frame_decode(struct frame *f, const char *text, size_t len)
{
    const char *type;

    *f = (struct frame){.tree = json_parse(text, len, NULL)};
    type = json_string_value(json_object_get(f->tree, "type"));
    if (f->tree == NULL)
        bad(f, "a text frame must be JSON");
    else if (type == NULL)
        bad(f, "a frame must have a type");
    else if (strcmp(type, "stdin") == 0)
        decode_stdin(f);
    else if (strcmp(type, "resize") == 0)
        decode_resize(f);
    else if (strcmp(type, "signal") == 0)
        decode_signal(f);
    else if (strcmp(type, "ping") == 0)
        f->kind = FRAME_PING;
    else
        bad(f, "type must be one of stdin, resize, signal and ping");
}

void osb_frame_fini(struct frame *f)
{
    json_decref(f->tree);
}
