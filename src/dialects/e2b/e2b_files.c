/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_files.c - access to files, and GET /files. Layer: dialects.
 */
#include "dialects/e2b/e2b_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "dialects/common/file_read.h"

/* --- shared ------------------------------------------------------------------------------ */

int e2b_file_path(const struct user *u, const char *text, size_t len, char *out,
                  struct hf_error *err)
{
    if (len > 0 && strlen(text) == len && e2b_path(u, text, out, PATH_MAX))
        return 0;
    return hf_fail_field(err, HF_E_bad_value, "path",
                         "path must be a path without NUL and within the length limit");
}

void e2b_file_fault(struct file_fault *f, const char *text, size_t len)
{
    const char *sentence = len > 0 ? memchr(text, ' ', len) : NULL;
    size_t rest = sentence != NULL ? len - (size_t)(sentence - text) - 1 : 0;

    switch (file_op_errno(text, len)) {
    case ENOENT: *f = (struct file_fault){.code = "not_found", .status = 404}; break;
    case EEXIST: *f = (struct file_fault){.code = "already_exists", .status = 409}; break;
    case EACCES:
    case EPERM:
    case EROFS: *f = (struct file_fault){.code = "permission_denied", .status = 403}; break;
    case ENOSPC:
    case EDQUOT: *f = (struct file_fault){.code = "resource_exhausted", .status = 507}; break;
    case 0: *f = (struct file_fault){.code = "internal", .status = 500}; break;
    default: *f = (struct file_fault){.code = "invalid_argument", .status = 400}; break;
    }
    while (rest > 0 && sentence[rest] == '\n')
        rest--;
    snprintf(f->message, sizeof f->message, "%.*s", (int)(rest < 390 ? rest : 390),
             rest > 0 ? sentence + 1 : "");
    if (rest == 0)
        snprintf(f->message, sizeof f->message, "the file operation failed");
}

/* The query names the user here, because a link cannot send a header. */
static bool files_user(struct http_request *rq, struct file_request *request)
{
    const char *name = http_query(rq, "username");
    struct hf_error err = {0};

    if (name == NULL || name[0] == '\0') {
        if (e2b_user(rq, &request->user, &request->given, &err) == 0)
            return true;
    } else if (e2b_user_named(e2b_of(rq), name, &request->user, &request->given, &err) == 0) {
        return true;
    }
    e2b_plain_error(rq, 401, err.detail);
    return false;
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
    if (!files_allowed(rq, operation) || !files_user(rq, request))
        return false;
    if (path == NULL || path[0] == '\0')
        return true; /* an upload may name it elsewhere */
    if (e2b_file_path(&request->user, path, strlen(path), request->path, &err) == 0)
        return true;
    e2b_plain_error(rq, 400, err.detail);
    return false;
}

/* --- GET /files -------------------------------------------------------------------------- */

static void read_failed(struct http_request *rq, const char *text, size_t len)
{
    struct file_fault f;

    e2b_file_fault(&f, text, len);
    e2b_plain_error(rq, f.status, f.message);
}

void e2b_files_get(struct http_request *rq)
{
    struct file_request *request = hf_xalloc(sizeof *request);

    if (e2b_files_decode(rq, "read", request)) {
        if (request->path[0] == '\0')
            e2b_plain_error(rq, 400, "name the file with ?path=");
        else
            file_read_begin(rq, file_user(request), request->path, read_failed,
                            "the daemon is shutting down");
    }
    free(request);
}
