/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_op.c - builds and recognises the processes that run `holdfast file-op`. Layer: dialects.
 */
#include "dialects/common/file_op.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"

/* In the child this is the keeper's own binary, wherever it is and even if it was replaced. */
#define OWN_BINARY "/proc/self/exe"

#define END_GRACE_MS 2000 /* to remove a temporary file */

void file_op_arg(struct file_op *op, const char *arg)
{
    assert(op->count < FILE_OP_ARGS);
    op->args[op->count++] = hf_xstrdup(arg);
}

void file_op_init(struct file_op *op, const char *user, const char *name, const char *path)
{
    memset(op, 0, sizeof *op);
    op->user = user;
    op->has_input = strcmp(name, "write") == 0 || strcmp(name, "unpack") == 0;
    file_op_arg(op, "file-op");
    file_op_arg(op, name);
    file_op_arg(op, path);
}

void file_op_fini(struct file_op *op)
{
    for (size_t i = 0; i < op->count; i++)
        free(op->args[i]);
    op->count = 0;
}

void file_op_option(struct file_op *op, const char *name, const char *value)
{
    struct buf text = {0};

    if (value == NULL)
        return;
    buf_printf(&text, "%s=%s", name, value);
    file_op_arg(op, buf_cstr(&text));
    buf_fini(&text);
}

void file_op_number(struct file_op *op, const char *name, int64_t value)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%lld", (long long)value);
    file_op_option(op, name, digits);
}

void file_op_flag(struct file_op *op, const char *name, bool value)
{
    file_op_option(op, name, value ? "1" : "0");
}

void file_op_spec(struct spawn_spec *s, const struct file_op *op)
{
    spec_init(s);
    s->command = OWN_BINARY;
    s->argv0 = "holdfast";
    s->args = (const char *const *)op->args;
    s->arg_count = op->count;
    s->cwd = "/";
    s->clear_env = true;
    s->user = op->user;
    s->source = SOURCE_SYSTEM;
    s->helper = true;
    s->label = "file";
    s->history_bytes = TRANSFER_RING_BYTES;
    s->stdin_mode = op->has_input ? STDIN_PIPE : STDIN_NULL;
}

bool file_op_is(const struct process_view *v)
{
    return v->source == SOURCE_SYSTEM && strcmp(v->command, OWN_BINARY) == 0;
}

static void file_op_on_end(void *arg, struct process *p, const struct survivors *s)
{
    (void)arg, (void)s;
    process_forget(p);
}

void file_op_end(struct process *p)
{
    process_terminate(p, END_GRACE_MS, "detach", file_op_on_end, NULL);
}

void file_op_end_all(struct engine *e)
{
    struct process *p = engine_next_all(e, NULL), *next;

    for (; p != NULL; p = next) {
        struct process_view v;

        next = engine_next_all(e, p);
        process_view(p, &v);
        if (file_op_is(&v))
            file_op_end(p);
    }
}
