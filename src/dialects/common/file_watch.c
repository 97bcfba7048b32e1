/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_watch.c - runs the processes that watch directories, and reads their lines. Layer: dialects.
 */
#include "dialects/common/file_watch.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/list.h"
#include "base/mem.h"
#include "dialects/common/file_op.h"
#include "engine/stream/viewer.h"

#define REASON_BYTES 4096 /* of the error message */
#define CLIENT_BYTES 64

struct file_watch {
    struct list link;                 /* in `watches` */
    const struct file_watch_ops *ops; /* NULL: stopped */
    void *arg;
    struct process *process; /* referenced; NULL until it was started */
    struct viewer *viewer;
    struct buf line;   /* an incomplete one */
    struct buf reason; /* the error message */
    char client[CLIENT_BYTES];
    bool starting; /* the engine will call back */
    bool busy;     /* in a callback: it is freed after that */
    bool ready;
};

/* All of this worker, whichever dialect started them: the kernel's limit is for all, too. */
static struct list watches = {&watches, &watches};

/* --- the end -------------------------------------------------------------------------------- */

static void watch_free(struct file_watch *w)
{
    viewer_detach(w->viewer);
    if (w->process != NULL)
        file_op_end(w->process);
    process_unref(w->process);
    list_remove(&w->link);
    buf_fini(&w->line);
    buf_fini(&w->reason);
    free(w);
}

void file_watch_stop(struct file_watch *w)
{
    if (w == NULL)
        return;
    w->ops = NULL;
    if (!w->starting && !w->busy)
        watch_free(w);
}

static void watch_end(struct file_watch *w, const struct hf_error *err)
{
    const struct file_watch_ops *ops = w->ops;

    if (ops == NULL)
        return;
    w->ops = NULL;
    ops->ended(w->arg, err);
}

/* --- errors --------------------------------------------------------------------------------- */

/* The message begins with the name of an errno. */
static int errno_of(const char *text, const char **name, size_t *len)
{
    *len = strcspn(text, " ");
    for (int errnum = 1; errnum < 134; errnum++) {
        *name = hf_errno_name(errnum);
        if (strlen(*name) == *len && memcmp(text, *name, *len) == 0)
            return errnum;
    }
    *name = NULL;
    *len = 0;
    return 0;
}

static void explain(struct file_watch *w, struct hf_error *err)
{
    const char *text = buf_cstr(&w->reason), *name;
    int errnum, n = (int)strcspn(text, "\n");
    size_t skip;

    errnum = errno_of(text, &name, &skip);
    text += skip > 0 ? skip + 1 : 0;
    n -= skip > 0 ? (int)skip + 1 : 0;
    switch (errnum) {
    case 0: hf_fail(err, HF_E_internal, "the process that watched the directory ended"); return;
    case ENOENT: hf_fail(err, HF_E_not_found, "%.*s", n, text); break;
    case ENOSPC:
    case EMFILE:
        hf_fail(err, HF_E_too_many_watches, "%.*s", n, text);
        err->limit = errnum == EMFILE ? "inotify_instances" : "watched_directories";
        break;
    default: hf_fail(err, HF_E_watch_failed, "%.*s", n, text); break;
    }
    err->errno_name = name;
    snprintf(err->path, sizeof err->path, "%.*s", (int)strcspn(text, ":"), text);
}

/* --- reports -------------------------------------------------------------------------------- */

static const struct {
    const char *type;
    bool path, from;
} changes[] = {
    [FILE_READY] = {"ready", false, false},
    [FILE_CREATE] = {"create", true, false},
    [FILE_WRITE] = {"write", true, false},
    [FILE_REMOVE] = {"remove", true, false},
    [FILE_RENAME] = {"rename", true, true},
    [FILE_CHMOD] = {"chmod", true, false},
    [FILE_UNWATCHED] = {"unwatched", true, false},
    [FILE_OVERFLOW] = {"overflow", false, false},
    [FILE_END] = {"end", false, false},
};

static int change_of(const char *type)
{
    for (int i = 0; i <= FILE_END; i++)
        if (strcmp(changes[i].type, type) == 0)
            return i;
    return -1;
}

bool file_report_decode(const json_t *line, struct file_report *out)
{
    static const struct json_field fields[] = {
        JSON_FIELD(STR, struct file_report, type, .required = true),
        JSON_FIELD(STR, struct file_report, path),
        JSON_FIELD(STR, struct file_report, from),
        JSON_FIELD(STR, struct file_report, path_base64),
        JSON_FIELD(STR, struct file_report, from_base64),
        JSON_FIELD(BOOL, struct file_report, dir),
        JSON_FIELD(OBJECT, struct file_report, entry),
        JSON_FIELD_AS("errno", STR, struct file_report, errno_name),
        JSON_FIELD(STR, struct file_report, reason),
        JSON_FIELD(INT, struct file_report, directories, .max = INT64_MAX),
        JSON_FIELD(INT, struct file_report, unwatched, .max = INT64_MAX),
    };
    int change;

    memset(out, 0, sizeof *out);
    if (json_decode(line, fields, sizeof fields / sizeof *fields, out, NULL) < 0)
        return false;
    change = change_of(out->type);
    if (change < 0 || (out->path != NULL) != changes[change].path ||
        (out->from != NULL) != changes[change].from || (change == FILE_END && out->reason == NULL))
        return false;
    out->change = (enum file_change)change;
    return true;
}

static void write_text(struct json_out *o, const char *key, const char *text)
{
    if (text != NULL)
        json_kstr(o, key, text);
}

void file_report_write(struct json_out *o, const struct file_report *r)
{
    json_open(o, '{');
    json_kstr(o, "type", r->type);
    write_text(o, "path", r->path);
    write_text(o, "path_base64", r->path_base64);
    write_text(o, "from", r->from);
    write_text(o, "from_base64", r->from_base64);
    if (r->change >= FILE_CREATE && r->change <= FILE_CHMOD)
        json_kbool(o, "dir", r->dir);
    if (r->entry != NULL) {
        json_key(o, "entry");
        json_value(o, r->entry);
    }
    write_text(o, "errno", r->errno_name);
    write_text(o, "reason", r->reason);
    if (r->change == FILE_READY) {
        json_kint(o, "directories", r->directories);
        json_kint(o, "unwatched", r->unwatched);
    }
}

static void watch_spoiled(struct file_watch *w)
{
    struct hf_error err = {0};

    hf_fail(&err, HF_E_internal, "the process that watched the directory sent an invalid report");
    watch_end(w, &err);
}

/* Ready comes first and once. */
static void watch_line(struct file_watch *w, const char *text, size_t len)
{
    json_auto_t *line = json_parse(text, len, NULL);
    struct file_report r;

    if (line == NULL || !file_report_decode(line, &r) || (r.change == FILE_READY) == w->ready) {
        watch_spoiled(w);
        return;
    }
    w->ready = true;
    w->ops->report(w->arg, &r);
    if (r.change == FILE_END)
        watch_end(w, NULL);
}

static void watch_lines(struct file_watch *w, const char *bytes, size_t len)
{
    while (len > 0 && w->ops != NULL) {
        const char *end = memchr(bytes, '\n', len);
        size_t n = end != NULL ? (size_t)(end - bytes) : len;

        if (w->line.len + n > LIMIT_FILE_WATCH_LINE_BYTES) {
            watch_spoiled(w);
            return;
        }
        if (end == NULL || w->line.len > 0)
            buf_put(&w->line, bytes, n);
        if (end == NULL)
            return;
        if (w->line.len > 0)
            watch_line(w, buf_data(&w->line), w->line.len);
        else
            watch_line(w, bytes, n);
        buf_clear(&w->line);
        bytes += n + 1;
        len -= n + 1;
    }
}

/* --- callbacks of the viewer ---------------------------------------------------------------- */

static bool watch_ready(void *arg)
{
    struct file_watch *w = arg;

    return w->ops == NULL || w->ops->room == NULL || w->ops->room(w->arg);
}

/* A callback may stop the watch. */
static void watch_leave_callback(struct file_watch *w)
{
    w->busy = false;
    if (w->ops == NULL)
        watch_free(w);
}

static void watch_bytes(void *arg, const struct slice *s)
{
    struct file_watch *w = arg;
    size_t room = REASON_BYTES - w->reason.len;

    if (s->stream == STREAM_STDERR) {
        buf_put(&w->reason, s->bytes, s->len < room ? s->len : room);
        return;
    }
    w->busy = true;
    watch_lines(w, s->bytes, s->len);
    watch_leave_callback(w);
}

/* Only when the daemon shuts down: otherwise the process waits for this reader. */
static void watch_gap(void *arg, uint64_t from, uint64_t to)
{
    struct file_watch *w = arg;
    struct hf_error err = {0};

    (void)from, (void)to;
    hf_fail(&err, HF_E_shutting_down, "the daemon is shutting down; watch again");
    w->busy = true;
    watch_end(w, &err);
    watch_leave_callback(w);
}

static void watch_exited(void *arg, const struct exit_record *x)
{
    struct file_watch *w = arg;
    struct hf_error err = {0};

    (void)x;
    explain(w, &err);
    w->busy = true;
    watch_end(w, &err);
    watch_leave_callback(w);
}

static const struct viewer_ops viewer_ops = {
    .ready = watch_ready,
    .bytes = watch_bytes,
    .gap = watch_gap,
    .exited = watch_exited,
};

/* --- the start ------------------------------------------------------------------------------ */

static void watch_on_spawned(void *arg, struct process *p, const struct hf_error *why)
{
    const struct viewer_options o = viewer_own(0);
    struct file_watch *w = arg;
    struct hf_error err = {0};

    w->starting = false;
    if (p != NULL)
        w->process = process_ref(p);
    if (p == NULL)
        watch_end(w, why);
    else if (w->ops != NULL && viewer_attach(p, &o, &viewer_ops, w, &w->viewer, &err) < 0)
        watch_end(w, &err);
    if (w->ops == NULL)
        watch_free(w);
}

/* An address without its port. */
static void copy_client(char *out, const char *client)
{
    const char *port = strncmp(client, "unix", 4) != 0 ? strrchr(client, ':') : NULL;

    snprintf(out, CLIENT_BYTES, "%.*s",
             (int)(port != NULL ? (size_t)(port - client) : strlen(client)), client);
}

static int check_count(const char *client, struct hf_error *err)
{
    size_t all = 0, own = 0;
    struct list *it, *tmp;
    int rc;

    list_for_each (it, tmp, &watches) {
        all++;
        own += strcmp(list_entry(it, struct file_watch, link)->client, client) == 0;
    }
    if (all < LIMIT_FILE_WATCHES && own < LIMIT_FILE_WATCHES_CLIENT)
        return 0;
    rc = hf_fail(
        err, HF_E_too_many_watches,
        "%zu directories are being watched, %zu of them for this address; stop some watches", all,
        own);
    if (err != NULL)
        err->limit = "file_watches";
    return rc;
}

static int watch_spawn(struct file_watch *w, struct engine *e, const struct file_watch_open *o,
                       struct hf_error *err)
{
    struct spawn_spec spec;
    struct file_op op;
    char options[48];
    int rc;

    snprintf(options, sizeof options, "%s,%s,%s", o->recursive ? "recursive" : "-",
             o->entries ? "entries" : "-", o->local ? "local" : "-");
    file_op_init(&op, o->user, "watch", o->path);
    file_op_arg(&op, options);
    file_op_spec(&spec, &op);
    spec.label = "watch";
    spec.history_bytes = LIMIT_JOURNAL_MIN_BYTES;
    rc = engine_spawn(e, &spec, watch_on_spawned, w, err);
    file_op_fini(&op);
    return rc;
}

int file_watch_start(struct engine *e, const struct file_watch_open *o,
                     const struct file_watch_ops *ops, void *arg, struct file_watch **out,
                     struct hf_error *err)
{
    struct file_watch *w;
    char client[CLIENT_BYTES];
    int rc;

    *out = NULL;
    copy_client(client, o->client);
    rc = check_count(client, err);
    if (rc < 0)
        return rc;
    w = hf_xalloc(sizeof *w);
    w->ops = ops;
    w->arg = arg;
    memcpy(w->client, client, sizeof client);
    list_append(&watches, &w->link);
    rc = watch_spawn(w, e, o, err);
    if (rc < 0) {
        watch_free(w);
        return rc;
    }
    w->starting = true;
    *out = w;
    return 0;
}

void file_watch_set_ops(struct file_watch *w, const struct file_watch_ops *ops, void *arg)
{
    assert(w->ops != NULL);
    w->ops = ops;
    w->arg = arg;
}

void file_watch_pump(struct file_watch *w)
{
    if (w != NULL && w->viewer != NULL)
        viewer_pump(w->viewer);
}
