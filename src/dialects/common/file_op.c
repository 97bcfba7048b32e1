/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_op.c - builds and recognises the processes that run `holdfast file-op`. Layer: dialects.
 */
#include "dialects/common/file_op.h"

#include <errno.h>
#include <string.h>

/* In the child this is the keeper's own binary, wherever it is and even if it was replaced. */
#define OWN_BINARY "/proc/self/exe"

void file_op_spec(struct spawn_spec *s, const char **args, const char *user, const char *op,
                  const char *a, const char *b)
{
    spec_init(s);
    args[0] = "file-op";
    args[1] = op;
    args[2] = a;
    args[3] = b;
    s->command = OWN_BINARY;
    s->argv0 = "holdfast";
    s->args = args;
    s->arg_count = b != NULL ? 4 : 3;
    s->cwd = "/";
    s->clear_env = true;
    s->user = user;
    s->source = SOURCE_SYSTEM;
    s->helper = true;
    s->label = "file";
    s->stdin_mode = strcmp(op, "write") == 0 || strcmp(op, "untar") == 0 ? STDIN_PIPE : STDIN_NULL;
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
    process_terminate(p, 0, "detach", file_op_on_end, NULL);
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

int file_op_errno(const char *text, size_t len)
{
    static const struct {
        const char *name;
        int errnum;
    } rows[] = {
        {"ENOENT ", ENOENT}, {"EEXIST ", EEXIST},       {"ENOTDIR ", ENOTDIR},
        {"EISDIR ", EISDIR}, {"EACCES ", EACCES},       {"EPERM ", EPERM},
        {"EROFS ", EROFS},   {"ENOSPC ", ENOSPC},       {"EDQUOT ", EDQUOT},
        {"EFBIG ", EFBIG},   {"EINVAL ", EINVAL},       {"ENAMETOOLONG ", ENAMETOOLONG},
        {"ELOOP ", ELOOP},   {"ENOTEMPTY ", ENOTEMPTY},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (len >= strlen(rows[i].name) && memcmp(text, rows[i].name, strlen(rows[i].name)) == 0)
            return rows[i].errnum;
    return 0;
}
