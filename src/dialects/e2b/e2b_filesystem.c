/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_filesystem.c - Stat, ListDir, MakeDir, Move, Remove. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "dialects/common/collect.h"
#include "dialects/e2b/e2b_files.h"

/* --- entries ---------------------------------------------------------------------------- */

static const char *type_name(const char *type)
{
    return strcmp(type, "file") == 0      ? "FILE_TYPE_FILE"
           : strcmp(type, "dir") == 0     ? "FILE_TYPE_DIRECTORY"
           : strcmp(type, "symlink") == 0 ? "FILE_TYPE_SYMLINK"
                                          : "FILE_TYPE_UNSPECIFIED";
}

/* As ls writes them: "drwxr-xr-x". */
static void permissions(char *out, const char *type, int64_t mode)
{
    static const char letters[] = "rwxrwxrwx";

    out[0] = type[0] == 'd' ? 'd' : type[0] == 's' ? 'L' : '-';
    for (int i = 0; i < 9; i++)
        out[i + 1] = mode & (0400 >> i) ? letters[i] : '-';
    out[10] = '\0';
}

/* A file's time can be anything; one that cannot be expressed is clamped. */
static void write_time(struct json_out *o, int64_t ms)
{
    char text[CLOCK_RFC3339_LEN + 1];

    ms = ms < RFC3339_MIN_MS ? RFC3339_MIN_MS : ms > RFC3339_MAX_MS ? RFC3339_MAX_MS : ms;
    clock_rfc3339(ms, text);
    json_kstr(o, "modifiedTime", text);
}

static void write_entry(struct json_out *o, const json_t *e)
{
    const char *type = json_string_value(json_object_get(e, "type"));
    int64_t mode = json_integer_value(json_object_get(e, "mode"));
    const char *target = json_string_value(json_object_get(e, "target"));
    char text[24];

    type = type != NULL ? type : "";
    json_open(o, '{');
    json_kstr(o, "name", json_string_value(json_object_get(e, "name")));
    json_kstr(o, "type", type_name(type));
    json_kstr(o, "path", json_string_value(json_object_get(e, "path")));
    snprintf(text, sizeof text, "%lld", (long long)json_integer_value(json_object_get(e, "size")));
    json_kstr(o, "size", text);
    json_kint(o, "mode", mode & 0777);
    permissions(text, type, mode);
    json_kstr(o, "permissions", text);
    json_kstr(o, "owner", json_string_value(json_object_get(e, "owner")));
    json_kstr(o, "group", json_string_value(json_object_get(e, "group")));
    write_time(o, json_integer_value(json_object_get(e, "modified_ms")));
    if (target != NULL)
        json_kstr(o, "symlinkTarget", target);
    json_close(o, '}');
}

/* Each line is an entry. */
static void write_entries(struct json_out *o, const struct buf *lines)
{
    const char *at = buf_data(lines);
    size_t left = lines->len;

    while (left > 0) {
        const char *end = memchr(at, '\n', left);
        size_t n = end != NULL ? (size_t)(end - at) : left;
        json_auto_t *e = json_parse(at, n, NULL);

        if (e != NULL)
            write_entry(o, e);
        n += end != NULL;
        at += n;
        left -= n;
    }
}

/* --- a call ----------------------------------------------------------------------------------- */

enum e2b_filesystem_reply { REPLY_ENTRY, REPLY_ENTRIES, REPLY_NONE };

struct e2b_filesystem_call {
    struct call call;
    enum rpc_codec codec;
    enum e2b_filesystem_reply reply;
    struct collect *collect; /* NULL: it has ended */
};

static void fs_release(struct call *c)
{
    struct collect *collect = ((struct e2b_filesystem_call *)c)->collect;

    if (collect != NULL)
        collect_free(collect);
}

/* The client gets its reply now; the operation completes all the same. */
static void fs_drain(struct call *c)
{
    if (c->rq != NULL) {
        http_set_user(c->rq, NULL, NULL);
        e2b_rpc_fail(c->rq, "unavailable", "the daemon is shutting down");
    }
    c->rq = NULL;
}

/* The operation completes all the same, and its helper is dropped afterwards. */
static const struct call_kind fs_kind = {.release = fs_release, .drain = fs_drain, .stays = true};

static void fs_failed(void *arg, const struct hf_error *err)
{
    struct e2b_filesystem_call *c = arg;

    c->collect = NULL;
    call_fail(&c->call, err);
}

static void fs_reply(struct e2b_filesystem_call *c, const struct collected *all)
{
    struct e2b *e = e2b_of(c->call.rq);
    struct json_out o;

    if (c->reply == REPLY_NONE) {
        e2b_rpc_reply_empty(c->call.rq, c->codec);
        return;
    }
    o = dialect_reply_open(&e->base);
    json_key(&o, c->reply == REPLY_ENTRY ? "entry" : "entries");
    if (c->reply == REPLY_ENTRIES)
        json_open(&o, '[');
    write_entries(&o, all->out);
    if (c->reply == REPLY_ENTRIES)
        json_close(&o, ']');
    json_close(&o, '}');
    e2b_rpc_reply(c->call.rq, c->reply == REPLY_ENTRY ? &e2b_entry_response : &e2b_entries_response,
                  c->codec, &e->base.scratch);
}

static void fs_finish(struct e2b_filesystem_call *c, const struct collected *all)
{
    struct file_fault f;

    if (all->exit->exit_code == 0 && all->out_total == all->out->len) {
        fs_reply(c, all);
    } else if (all->exit->exit_code == 0) {
        e2b_rpc_fail(c->call.rq, "resource_exhausted", "the list is too long for one reply");
    } else {
        e2b_file_fault(&f, buf_data(all->err), all->err->len);
        e2b_rpc_fail(c->call.rq, f.code, f.message);
    }
}

static void fs_ended(void *arg, const struct collected *all)
{
    struct e2b_filesystem_call *c = arg;

    if (c->call.rq != NULL)
        fs_finish(c, all);
    c->call.rq = NULL; /* replied */
    c->collect = NULL; /* frees itself */
    process_forget(all->process);
    call_end(&c->call);
}

static const struct collect_ops fs_ops = {.failed = fs_failed, .done = fs_ended};

static void fs_begin(struct http_request *rq, enum rpc_codec codec, enum e2b_filesystem_reply reply,
                     struct spawn_spec *spec)
{
    struct e2b_filesystem_call *c = call_begin(rq, &fs_kind, sizeof *c);
    struct hf_error err;

    c->codec = codec;
    c->reply = reply;
    if (collect_start(dialect_base_of(rq)->engine, spec, LIMIT_FILE_REPLY_BYTES, &fs_ops, c,
                      &c->collect, &err) < 0)
        fs_failed(c, &err);
}

static int path_of(const struct user *u, const json_t *message, const char *field, char *out,
                   struct hf_error *err)
{
    const json_t *v = json_object_get(message, field);

    return e2b_file_path(u, v != NULL ? json_string_value(v) : "", json_string_length(v), out, err);
}

static void fs_call(struct http_request *rq, const struct pb_message *m, const char *op,
                    enum e2b_filesystem_reply reply)
{
    enum rpc_codec codec;
    json_auto_t *message = e2b_rpc_request(rq, m, false, &codec);
    bool two = m == &e2b_move_request, list = m == &e2b_list_dir_request;
    struct file_request *request = hf_xalloc(sizeof *request);
    int64_t depth = json_integer_value(json_object_get(message, "depth"));
    const char *args[FILE_OP_ARGS];
    struct spawn_spec spec;
    struct hf_error err = {0};

    if (message == NULL) {
        free(request);
        return;
    }
    snprintf(request->to, sizeof request->to, "%lld", (long long)(depth > 0 ? depth : 1));
    if (e2b_user(rq, &request->user, &request->given, &err) < 0 ||
        path_of(&request->user, message, two ? "source" : "path", request->path, &err) < 0 ||
        (two && path_of(&request->user, message, "destination", request->to, &err) < 0)) {
        e2b_rpc_error(rq, &err);
    } else {
        file_op_spec(&spec, args, file_user(request), op, request->path,
                     two || list ? request->to : NULL);
        fs_begin(rq, codec, reply, &spec);
    }
    free(request);
}

void e2b_fs_stat(struct http_request *rq)
{
    fs_call(rq, &e2b_path_request, "stat", REPLY_ENTRY);
}

void e2b_fs_list(struct http_request *rq)
{
    fs_call(rq, &e2b_list_dir_request, "list", REPLY_ENTRIES);
}

void e2b_fs_mkdir(struct http_request *rq)
{
    fs_call(rq, &e2b_path_request, "mkdir", REPLY_ENTRY);
}

void e2b_fs_move(struct http_request *rq)
{
    fs_call(rq, &e2b_move_request, "move", REPLY_ENTRY);
}

void e2b_fs_remove(struct http_request *rq)
{
    fs_call(rq, &e2b_path_request, "remove", REPLY_NONE);
}
