/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_request.c - requests with retries; errors as messages and exit codes. Layer: cli.
 */
#include "cli/client/client_request.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "cli/client/client_print.h"

#define ID_LENGTH 25 /* "proc_" and 20 more */
#define REQUEST_TRIES 6
#define REQUEST_PAUSE_MS 100
#define REQUEST_LASTED_MS 2000 /* a connection that lasted this long resets the count of tries */

const char *request_json_text(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));

    return s != NULL ? s : "";
}

int64_t request_json_number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* --- errors ---------------------------------------------------------------------- */

int request_print_unreachable(const struct client_call *call, const struct hf_error *err)
{
    return command_complain(call, CLI_NO_DAEMON, "%s", err->detail);
}

static const struct {
    const char *code, *hint;
} hints[] = {
    {"unauthorized", "pass the daemon's token with --token-file or HOLDFAST_TOKEN"},
    {"forbidden", "this needs a token with another role"},
    {"host_refused", "start the daemon with --allow-host, or use its address"},
    {"no_such_process", "holdfast ps -a lists the processes"},
    {"not_running", "holdfast logs shows its output"},
    {"stdin_closed", "start it with holdfast run -i to send it input"},
    {"tag_in_use", "choose another --tag, or remove that process with holdfast rm -f"},
    {"not_implemented",
     "this daemon does not support it; install a newer one and run holdfast upgrade"},
};

static const char *hint_of(const char *code)
{
    size_t i;

    for (i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strcmp(hints[i].code, code) == 0)
            return hints[i].hint;
    return NULL;
}

/* A missing command exits with 127, as in a shell. */
static int exit_of(const json_t *problem)
{
    const char *code = request_json_text(problem, "code"),
               *name = request_json_text(problem, "errno");

    if (strcmp(code, "spawn_failed") != 0)
        return CLI_FAILED;
    return strcmp(name, "ENOENT") == 0 ? CLI_NOT_FOUND : CLI_CANNOT_RUN;
}

int request_print_problem(const struct client_call *call, const struct fetch_reply *r)
{
    const char *detail = request_json_text(r->json, "detail"),
               *code = request_json_text(r->json, "code");
    const char *hint = hint_of(code);

    if (detail[0] == '\0')
        return command_complain(call, CLI_FAILED, "%s returned status %d; is it a holdfast daemon?",
                                call->place.url, r->status);
    return command_complain(call, exit_of(r->json), "%s (%s)%s%s", detail, code,
                            hint != NULL ? "; " : "", hint != NULL ? hint : "");
}

bool request_may_retry(int status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

/* --- requests ---------------------------------------------------------------------- */

void request_begin(struct request_tries *t)
{
    t->began_ms = clock_mono_ms();
}

bool request_again(struct request_tries *t, int rc)
{
    if (rc != -ECONNRESET && rc != -EPIPE)
        return false;
    if (clock_mono_ms() - t->began_ms >= REQUEST_LASTED_MS)
        t->count = 0;
    if (++t->count >= REQUEST_TRIES)
        return false;
    poll(NULL, 0, REQUEST_PAUSE_MS);
    return true;
}

static bool is_safe(const struct fetch_request *what)
{
    return strcmp(what->method, "GET") == 0 || strcmp(what->method, "HEAD") == 0;
}

int request_call(const struct client_call *call, const struct fetch_request *what,
                 struct fetch_reply *out, struct hf_error *err)
{
    struct request_tries tries = {0};
    int rc;

    do {
        request_begin(&tries);
        rc = fetch_call(&call->place, what, out, err);
    } while (is_safe(what) && request_again(&tries, rc));
    return rc;
}

int request_open(const struct client_call *call, const struct fetch_request *what,
                 struct fetch_stream *out, struct hf_error *err)
{
    struct request_tries tries = {0};
    int rc;

    do {
        request_begin(&tries);
        rc = fetch_open(out, &call->place, what, err);
    } while (is_safe(what) && request_again(&tries, rc));
    return rc;
}

int request_check(const struct client_call *call, int rc, const struct hf_error *err,
                  struct fetch_reply *out)
{
    if (rc < 0)
        return request_print_unreachable(call, err);
    if (out->status / 100 == 2)
        return CLI_OK;
    rc = request_print_problem(call, out);
    fetch_reply_fini(out);
    return rc;
}

int request_with(const struct client_call *call, const struct fetch_request *what,
                 struct fetch_reply *out)
{
    struct hf_error err = {0};
    int rc = request_call(call, what, out, &err);

    return request_check(call, rc, &err, out);
}

int request_stream(const struct client_call *call, const struct fetch_request *what,
                   struct fetch_stream *out)
{
    fetch_autoreply struct fetch_reply r = {0};
    struct hf_error err = {0};
    int rc = request_open(call, what, out, &err);

    if (rc < 0)
        return request_print_unreachable(call, &err);
    if (rc == 200)
        return CLI_OK;
    fetch_rest(out, &r);
    fetch_close(out);
    return request_print_problem(call, &r);
}

int request(const struct client_call *call, const char *method, const char *path,
            const struct buf *json_body, struct fetch_reply *out)
{
    fetch_autoreply struct fetch_reply own = {0};
    struct fetch_request what = {.method = method, .path = path};
    int rc;

    if (json_body != NULL) {
        what.body = buf_data(json_body);
        what.body_len = json_body->len;
    }
    rc = request_with(call, &what, out != NULL ? out : &own);
    if (rc == CLI_OK && out == NULL)
        print_value(call, own.json);
    return rc;
}

/* The option at the front of the names, and its value; the names advance. NULL: no more. */
static const struct opt *next_option(const struct client_call *call, const char **names,
                                     const void **value)
{
    const struct opt *o = call->command->opts;
    size_t len = strcspn(*names, " ");

    if (len == 0)
        return NULL;
    while (strlen(o->member) != len || memcmp(o->member, *names, len) != 0) {
        o++;
        assert(o < call->command->opts + call->command->opt_count);
    }
    *names += len + strspn(*names + len, " ");
    *value = (const char *)call->args + o->offset;
    return o;
}

void request_put_options(const struct client_call *call, const char *names, struct json_out *out)
{
    const void *value;
    const struct opt *o;

    while ((o = next_option(call, &names, &value)) != NULL) {
        if (o->kind == OPT_IS_TEXT && *(const char *const *)value != NULL)
            json_kstr(out, o->member, *(const char *const *)value);
        else if (o->kind == OPT_IS_FLAG && *(const bool *)value)
            json_kbool(out, o->member, true);
        else if (o->kind >= OPT_IS_NUMBER && *(const int64_t *)value > 0)
            json_kint(out, o->member, *(const int64_t *)value);
    }
}

void request_put_query(const struct client_call *call, const char *names, struct buf *path)
{
    const void *value;
    const struct opt *o;

    while ((o = next_option(call, &names, &value)) != NULL) {
        const char *text = *(const char *const *)value;

        if (text == NULL)
            continue;
        buf_printf(path, "%c%s=", strchr(buf_cstr(path), '?') != NULL ? '&' : '?', o->member);
        fetch_escape(path, text);
    }
}

int request_exit_code(const struct client_call *call, const json_t *ended)
{
    const json_t *code = json_object_get(ended, "exit_code");

    if (json_is_integer(code))
        return (int)json_integer_value(code);
    return command_complain(call, CLI_NO_DAEMON,
                            "the process has ended, but its exit status is unknown");
}

/* --- names --------------------------------------------------------------------------- */

static bool is_whole(const char *name)
{
    return strncmp(name, "tag:", 4) == 0 || strncmp(name, "pid:", 4) == 0 ||
           (strncmp(name, "proc_", 5) == 0 && strlen(name) == ID_LENGTH);
}

/* The only process whose id begins with `name`, with or without "proc_". */
static const json_t *match(const json_t *list, const char *name, size_t *count)
{
    const json_t *p, *found = NULL;
    size_t i, len = strlen(name);

    *count = 0;
    json_array_foreach ((json_t *)list, i, p) {
        const char *id = request_json_text(p, "id");

        if (strncmp(id, name, len) == 0 || strncmp(id + 5, name, len) == 0) {
            found = p;
            ++*count;
        }
    }
    return found;
}

static int name_by_list(const struct client_call *call, const char *name, struct buf *out)
{
    fetch_autoreply struct fetch_reply r = {0};
    const json_t *found;
    size_t count;
    int rc = request(call, "GET", "/v1/processes?limit=1000", NULL, &r);

    if (rc != CLI_OK)
        return rc;
    found = match(json_object_get(r.json, "processes"), name, &count);
    if (count == 1) {
        buf_puts(out, request_json_text(found, "id"));
        return CLI_OK;
    }
    return command_complain(
        call, CLI_FAILED,
        count == 0 ? "no process has the tag or id '%s'; holdfast ps -a lists the processes"
                   : "'%s' matches several ids; use a longer prefix",
        name);
}

static int name_process(const struct client_call *call, const char *name, struct buf *out)
{
    struct fetch_request get = {.method = "GET"};
    struct hf_error err = {0};
    fetch_autoreply struct fetch_reply r = {0};
    hf_autobuf struct buf path = {0};
    int rc;

    if (name[0] == '\0')
        return command_complain(call, CLI_USAGE,
                                "the process name is empty; holdfast ps lists the processes");
    if (is_whole(name)) {
        fetch_escape(out, name);
        return CLI_OK;
    }
    buf_puts(&path, "/v1/processes/tag:");
    fetch_escape(&path, name);
    get.path = buf_cstr(&path);
    rc = request_call(call, &get, &r, &err);
    if (rc < 0)
        return request_print_unreachable(call, &err);
    if (r.status != 200)
        return r.status == 404 ? name_by_list(call, name, out) : request_print_problem(call, &r);
    buf_puts(out, request_json_text(r.json, "id"));
    return CLI_OK;
}

int request_process(const struct client_call *call, const char *method, const char *name,
                    const char *rest, const struct buf *json_body, struct fetch_reply *out)
{
    hf_autobuf struct buf path = {0};
    int rc = request_process_path(call, name, &path, rest);

    return rc == CLI_OK ? request(call, method, buf_cstr(&path), json_body, out) : rc;
}

int request_process_path(const struct client_call *call, const char *name, struct buf *out,
                         const char *rest)
{
    int rc;

    buf_puts(out, "/v1/processes/");
    rc = name_process(call, name, out);
    buf_puts(out, rest);
    return rc;
}
