/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_files.c - access to files, and GET /files. Layer: dialects.
 */
#include "dialects/e2b/e2b_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/file_call.h"
#include "dialects/common/file_get.h"

/* --- shared ------------------------------------------------------------------------------ */

int e2b_file_path(const struct user *u, const char *text, size_t len, char *out,
                  struct hf_error *err)
{
    if (len > 0 && strlen(text) == len && e2b_path(u, text, out, PATH_MAX))
        return 0;
    return hf_fail_field(err, HF_E_bad_value, "path",
                         "path must not contain NUL or exceed the length limit of paths");
}

#define COMPOSE_MAX 1000            /* files that become one */
#define COMPOSE_BYTES (100 * 1024)  /* of their names: one argument of a process has 128 KiB */
#define METADATA_PREFIX "user.e2b." /* of the extended attributes that clients set */

void e2b_file_op(struct file_op *op, const struct http_request *rq, const struct file_request *f,
                 const char *name, const char *path, const char *second)
{
    const struct dialect_host *host = &dialect_base_of(rq)->host;
    bool root = host->own_uid == 0 && host->any_user;

    file_op_init(op, root ? NULL : file_user(f), name, path);
    if (second != NULL)
        file_op_arg(op, second);
    file_op_option(op, "attributes", METADATA_PREFIX);
    if (!root)
        return;
    file_op_number(op, "uid", f->user.uid);
    file_op_number(op, "gid", f->user.gid);
}

struct e2b_file_words e2b_file_words(const struct file_fault *f)
{
    struct e2b_file_words w = {.message =
                                   f->text[0] != '\0' ? f->text : "the file operation failed"};

    switch (f->errnum) {
    case ENOENT: w.code = "not_found", w.status = 404; break;
    case EEXIST: w.code = "already_exists", w.status = 409; break;
    case EACCES:
    case EPERM:
    case EROFS: w.code = "permission_denied", w.status = 403; break;
    case ENOSPC:
    case EDQUOT: w.code = "internal", w.status = 507; break;
    case 0: w.code = "internal", w.status = 500; break;
    case EMSGSIZE: w.code = "out_of_range", w.status = 400; break;
    default: w.code = "invalid_argument", w.status = 400; break;
    }
    return w;
}

void e2b_file_info(struct json_out *o, const char *path, const struct file_entry *e)
{
    const char *base = strrchr(path, '/');

    json_open(o, '{');
    json_kstr(o, "path", path);
    json_kstr(o, "name", base != NULL ? base + 1 : path);
    json_kstr(o, "type", "file");
    if (e->attributes != NULL) {
        json_key(o, "metadata");
        json_value(o, e->attributes);
    }
    json_close(o, '}');
}

/* The query names the user here, because a link cannot send a header. Whoever has only a link gets
 * the user that was signed: a header is not. */
static bool files_user(struct http_request *rq, const char *name, struct file_request *request)
{
    const struct e2b *e = e2b_of(rq);
    struct hf_error err = {0};
    int rc;

    if (name != NULL && name[0] != '\0')
        rc = e2b_user_named(e, name, &request->user, &request->given, &err);
    else if (http_role(rq) >= ROLE_OWN)
        rc = e2b_user(rq, &request->user, &request->given, &err);
    else
        rc = e2b_default_user(e, &request->user, &request->given, &err);
    if (rc < 0)
        e2b_plain_error(rq, rc == -ENOENT ? 401 : hf_code_status(err.code), err.detail);
    return rc == 0;
}

static bool files_allowed(struct http_request *rq, const char *operation)
{
    const char *given = http_query(rq, "signature"), *path = http_query(rq, "path"),
               *user = http_query(rq, "username"), *wrong;
    const char *const parts[] = {
        [SIGNED_PATH] = path != NULL ? path : "",
        [SIGNED_OPERATION] = operation,
        [SIGNED_USER] = user != NULL ? user : "",
        [SIGNED_EXPIRES] = http_query(rq, "signature_expiration"),
    };

    if (http_role(rq) >= ROLE_OWN)
        return true;
    wrong = given == NULL ? "a token or a signature is required"
                          : e2b_signature_refusal(dialect_base_of(rq)->host.tokens, parts, given,
                                                  clock_wall_ms() / 1000);
    if (wrong != NULL)
        e2b_plain_error(rq, 401, wrong);
    else
        http_set_trusted(rq, ROLE_TYPE); /* weaker than a token, but authenticated */
    return wrong == NULL;
}

bool e2b_files_decode(struct http_request *rq, const char *operation, struct file_request *request)
{
    const char *path = http_query(rq, "path");
    struct hf_error err = {0};

    memset(request, 0, sizeof *request);
    if (!files_allowed(rq, operation) || !e2b_is_there(rq) ||
        !files_user(rq, http_query(rq, "username"), request))
        return false;
    if (path == NULL || path[0] == '\0')
        return true; /* an upload may name it elsewhere */
    if (e2b_file_path(&request->user, path, strlen(path), request->path, &err) == 0)
        return true;
    e2b_plain_error(rq, 400, err.detail);
    return false;
}

/* --- GET /files -------------------------------------------------------------------------- */

static void read_failed(struct http_request *rq, const struct file_fault *f)
{
    const struct e2b_file_words w = e2b_file_words(f);

    e2b_plain_error(rq, w.status, w.message);
}

/* Links are opened by browsers, which take the name from here. */
static bool read_head(struct http_request *rq, const struct file_entry *e,
                      struct file_download_head *h)
{
    struct buf text = {0};

    buf_puts(&text, "inline; filename*=utf-8''");
    text_percent_encode(&text, e->name != NULL ? e->name : "", "-._~");
    http_add_header(rq, "Content-Disposition", buf_cstr(&text));
    buf_fini(&text);
    return file_get_head(rq, e, h);
}

void e2b_files_get(struct http_request *rq)
{
    static const struct file_download_ops ops = {
        .head = read_head, .failed = read_failed, .drain_text = "the daemon is shutting down"};
    struct file_request *request = hf_xalloc(sizeof *request);
    struct file_op op;

    if (e2b_files_decode(rq, "read", request)) {
        if (request->path[0] == '\0') {
            e2b_plain_error(rq, 400, "name the file with ?path=");
        } else {
            e2b_file_op(&op, rq, request, "read", request->path, NULL);
            file_get_options(rq, &op);
            file_download_begin(rq, &op, &ops);
        }
    }
    free(request);
}

/* --- POST /files/compose ------------------------------------------------------------------- */

static void compose_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    struct buf *b = &dialect_base_of(rq)->scratch;
    struct json_out o;

    (void)tag;
    buf_clear(b);
    json_out_init(&o, b);
    e2b_file_info(&o, r->last->path, r->last);
    http_reply_json(rq, 200, b);
}

static void compose_failed(struct http_request *rq, const struct file_fault *f, int tag)
{
    (void)tag;
    read_failed(rq, f);
}

struct compose_request {
    json_t *sources;
    const char *destination, *username;
};

/* The paths, made absolute, as a list. NULL: err. */
static json_t *compose_sources(const struct user *u, const json_t *sources, struct hf_error *err)
{
    json_t *out = json_array();
    char path[PATH_MAX];

    for (size_t i = 0; i < json_array_size(sources); i++) {
        const json_t *v = json_array_get(sources, i);

        if (json_is_string(v) &&
            e2b_file_path(u, json_string_value(v), json_string_length(v), path, err) == 0) {
            json_array_append_new(out, json_string(path));
            continue;
        }
        json_decref(out);
        hf_fail_field(err, HF_E_bad_value, "source_paths", "source_paths must be a list of paths");
        return NULL;
    }
    return out;
}

static int compose_begin(struct http_request *rq, const struct compose_request *c,
                         struct file_request *request, struct hf_error *err)
{
    static const struct file_call_ops ops = {
        .reply = compose_reply, .failed = compose_failed, .changes = true};
    hf_autofree char *text = NULL;
    json_auto_t *sources = NULL;
    struct file_op op;

    if (json_array_size(c->sources) == 0 || json_array_size(c->sources) > COMPOSE_MAX)
        return hf_fail_field(err, HF_E_bad_value, "source_paths",
                             "source_paths must be a list of 1 to %d paths", COMPOSE_MAX);
    if (c->destination == NULL || c->destination[0] == '\0')
        return hf_fail_field(err, HF_E_missing_field, "destination", "destination is required");
    if (e2b_file_path(&request->user, c->destination, strlen(c->destination), request->path, err) <
        0)
        return -EINVAL;
    sources = compose_sources(&request->user, c->sources, err);
    if (sources == NULL)
        return -EINVAL;
    text = json_dumps(sources, JSON_COMPACT);
    if (text == NULL || strlen(text) >= COMPOSE_BYTES)
        return hf_fail_field(err, HF_E_bad_value, "source_paths",
                             "source_paths are longer than %d bytes", COMPOSE_BYTES);
    e2b_file_op(&op, rq, request, "compose", request->path, text);
    file_call_begin(rq, &op, &ops, 0);
    return 0;
}

void e2b_files_compose(struct http_request *rq)
{
    static const struct json_field fields[] = {
        {.name = "source_paths",
         .kind = JSON_F_ARRAY,
         .offset = offsetof(struct compose_request, sources)},
        JSON_FIELD(STR, struct compose_request, destination),
        JSON_FIELD(STR, struct compose_request, username),
    };
    struct compose_request c = {0};
    struct hf_error err = {0};
    json_auto_t *body = e2b_is_there(rq) ? dialect_object(rq) : NULL;
    struct file_request *request;

    if (body == NULL)
        return;
    if (json_decode_known(body, fields, sizeof fields / sizeof *fields, &c, &err) < 0) {
        e2b_error(rq, &err);
        return;
    }
    request = hf_xalloc(sizeof *request);
    if (files_user(rq, c.username, request) && compose_begin(rq, &c, request, &err) < 0)
        e2b_error(rq, &err);
    free(request);
}
