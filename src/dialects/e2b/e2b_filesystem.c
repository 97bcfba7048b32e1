/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_filesystem.c - Stat, ListDir, MakeDir, Move, Remove. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/common/file_call.h"
#include "dialects/e2b/e2b_files.h"

/* --- entries ---------------------------------------------------------------------------- */

static const char *type_name(const char *type)
{
    return strcmp(type, "file") == 0      ? "FILE_TYPE_FILE"
           : strcmp(type, "dir") == 0     ? "FILE_TYPE_DIRECTORY"
           : strcmp(type, "symlink") == 0 ? "FILE_TYPE_SYMLINK"
                                          : "FILE_TYPE_UNSPECIFIED";
}

/* As Go writes them: "drwxr-xr-x"; a link has its own. */
static void permissions(char *out, const char *kind, int64_t mode)
{
    bool link = strcmp(kind, "symlink") == 0;

    file_entry_letters(out,
                       strcmp(kind, "directory") == 0 ? 'd'
                       : link                         ? 'L'
                                                      : '-',
                       link ? 0777 : mode);
}

void e2b_write_entry(struct json_out *o, const struct file_entry *e)
{
    const char *type = e->type != NULL ? e->type : "";
    char text[24];

    json_open(o, '{');
    json_kstr(o, "name", e->name);
    json_kstr(o, "type", type_name(type));
    json_kstr(o, "path", e->path);
    snprintf(text, sizeof text, "%lld", (long long)e->size);
    json_kstr(o, "size", text);
    json_kint(o, "mode", e->mode & 0777);
    permissions(text, e->kind != NULL ? e->kind : type, e->mode);
    json_kstr(o, "permissions", text);
    json_kstr(o, "owner", e->owner);
    json_kstr(o, "group", e->group);
    file_entry_time(o, "modifiedTime", e->modified_ms);
    if (e->target != NULL)
        json_kstr(o, "symlinkTarget", e->target);
    if (e->attributes != NULL) {
        json_key(o, "metadata");
        json_value(o, e->attributes);
    }
    json_close(o, '}');
}

/* --- a call ----------------------------------------------------------------------------------- */

enum { REPLY_ENTRY, REPLY_ENTRIES, REPLY_NONE, REPLY_CODEC = 4 }; /* the codec is added */

static void write_entry(struct json_out *o, const struct file_entry *e, int tag)
{
    (void)tag;
    e2b_write_entry(o, e);
}

static void fs_drained(struct http_request *rq)
{
    e2b_rpc_fail(rq, "unavailable", "the daemon is shutting down");
}

static void fs_failed(struct http_request *rq, const struct file_fault *f, int tag)
{
    const struct e2b_file_words w = e2b_file_words(f);

    (void)tag;
    e2b_rpc_fail(rq, w.code, w.message);
}

static void fs_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    enum rpc_codec codec = (enum rpc_codec)(tag / REPLY_CODEC);
    struct e2b *e = e2b_of(rq);
    bool one = tag % REPLY_CODEC == REPLY_ENTRY;
    struct json_out o;

    if (tag % REPLY_CODEC == REPLY_NONE) {
        e2b_rpc_reply_empty(rq, codec);
        return;
    }
    o = dialect_reply_open(&e->base);
    json_key(&o, one ? "entry" : "entries");
    if (!one)
        json_open(&o, '[');
    if (r->count > 0)
        json_raw(&o, buf_data(r->items), r->items->len);
    if (!one)
        json_close(&o, ']');
    json_close(&o, '}');
    e2b_rpc_reply(rq, one ? &e2b_entry_response : &e2b_entries_response, codec, &e->base.scratch);
}

static const struct file_call_ops fs_ops = {.entry = write_entry,
                                            .reply = fs_reply,
                                            .failed = fs_failed,
                                            .drained = fs_drained,
                                            .changes = true};

static int path_of(const struct user *u, const json_t *message, const char *field, char *out,
                   struct hf_error *err)
{
    const json_t *v = json_object_get(message, field);

    return e2b_file_path(u, v != NULL ? json_string_value(v) : "", json_string_length(v), out, err);
}

static void fs_call(struct http_request *rq, const struct pb_message *m, const char *name,
                    int reply)
{
    enum rpc_codec codec;
    json_auto_t *message = e2b_rpc_request(rq, m, false, &codec);
    bool two = m == &e2b_move_request, list = m == &e2b_list_dir_request;
    struct file_request *request = hf_xalloc(sizeof *request);
    int64_t depth = json_integer_value(json_object_get(message, "depth"));
    struct file_op op;
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
        e2b_file_op(&op, rq, request, name, request->path, two || list ? request->to : NULL);
        file_op_flag(&op, "exclusive", true); /* mkdir: an existing directory is an error */
        file_call_begin(rq, &op, &fs_ops, reply + REPLY_CODEC * (int)codec);
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
