/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_reply.c - replies and errors in Docker's shape, and what every request may contain.
 * Layer: dialects.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "dialects/docker/docker.h"

/* --- replies ------------------------------------------------------------------------ */

void docker_headers(struct http_request *rq)
{
    char text[128];

    snprintf(text, sizeof text, "1.%d", DOCKER_API_MINOR);
    http_add_header(rq, "Api-Version", text);
    http_add_header(rq, "Docker-Experimental", "false");
    http_add_header(rq, "Ostype", "linux");
    snprintf(text, sizeof text, "Docker/holdfast-%s (linux)", docker_of(rq)->base.host.version);
    http_add_header(rq, "Server", text);
}

void docker_send(struct http_request *rq, int status, struct json_out *o)
{
    json_close(o, '}');
    buf_putc(o->buf, '\n');
    docker_headers(rq);
    http_reply_json(rq, status, o->buf);
}

void docker_empty(struct http_request *rq, int status)
{
    docker_headers(rq);
    http_reply_empty(rq, status);
}

/* --- errors ------------------------------------------------------------------------- */

static void send_message(struct http_request *rq, int status, const char *message)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "message", message);
    docker_send(rq, status, &o);
}

void docker_fail(struct http_request *rq, int status, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    send_message(rq, status, text);
}

static int status_of(const struct hf_error *err)
{
    switch (err->code) {
    case HF_E_spawn_failed:
    case HF_E_user_unknown: return 400;
    case HF_E_upgrade_required: return 400; /* Docker has no 426 */
    default: return hf_code_status(err->code);
    }
}

void docker_error(struct http_request *rq, const struct hf_error *err)
{
    if (err->code == HF_E_not_found)
        send_message(rq, 404, "page not found");
    else
        send_message(rq, status_of(err), err->detail);
}

static bool is_errno(const struct hf_error *err, const char *name)
{
    return err->errno_name != NULL && strcmp(err->errno_name, name) == 0;
}

/* The client searches for these words to choose its exit code. */
int docker_spawn_error(const struct hf_error *err, const json_t *config, char *text, size_t size)
{
    const char *command = json_string_value(json_array_get(json_object_get(config, "argv"), 0));

    if (err->code == HF_E_spawn_failed && is_errno(err, "ENOENT")) {
        if (strncmp(err->detail, "cannot enter", 12) == 0)
            snprintf(text, size, "%s: no such file or directory", err->detail);
        else if (strchr(command, '/') != NULL)
            snprintf(text, size, "exec: \"%.200s\": stat %.200s: no such file or directory",
                     command, command);
        else
            snprintf(text, size, "exec: \"%.200s\": executable file not found in $PATH", command);
        return 127;
    }
    if (err->code == HF_E_spawn_failed &&
        (is_errno(err, "EACCES") || is_errno(err, "EISDIR") || is_errno(err, "ENOEXEC"))) {
        snprintf(text, size, "exec: \"%.200s\": permission denied (%.200s)", command, err->detail);
        return 126;
    }
    snprintf(text, size, "%s", err->detail);
    return 128;
}

/* --- decoding --------------------------------------------------------------------------- */

int docker_minor(const struct http_request *rq)
{
    const char *version = http_param(rq, "version");
    int minor = DOCKER_API_MINOR;

    if (version != NULL)
        docker_version(version, &minor);
    return minor;
}

json_t *docker_body(struct http_request *rq)
{
    size_t len;

    (void)http_body(rq, &len);
    if (len > 0)
        return dialect_object(rq);
    dialect_fail(rq, HF_E_bad_type, "the body must be a JSON object");
    return NULL;
}

bool docker_query_number(struct http_request *rq, const char *name, const char *what, int64_t max,
                         int64_t *out)
{
    const char *text = http_query(rq, name);

    if (text == NULL || text[0] == '\0' || text_to_i64(text, -1, max, out))
        return true;
    docker_fail(rq, 400, "invalid %s: %.100s", what, text);
    return false;
}

bool docker_query(const struct http_request *rq, const char *name)
{
    return docker_truth(http_query(rq, name));
}
