/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_terminal.c - GET /v1/terminal and /terminal: start a terminal and attach, in one step
 *
 * A client that disconnects before it was attached never learnt the process's id, so that process
 * is terminated. Layer: dialects.
 */
#include <stdio.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/start_call.h"
#include "dialects/native/native_handlers.h"
#include "dialects/native/socket/connect.h"

/* --- decoding requests --------------------------------------------------------- */

struct terminal_request {
    struct spawn_spec spec;
    json_t *tree; /* of args */
    const char **args;
};

static void terminal_request_fini(struct terminal_request *a)
{
    json_decref(a->tree);
    free(a->args);
}

/* The same errors as in a body, reported for the query. */
static int decode_args(struct terminal_request *a, const char *text, struct hf_error *err)
{
    size_t i, n;
    json_t *v;

    if (text == NULL)
        return 0;
    a->tree = json_parse(text, strlen(text), NULL);
    n = json_array_size(a->tree);
    if (!json_is_array(a->tree) || n > LIMIT_ARGS)
        return hf_fail_field(err, HF_E_bad_query, "args",
                             "\"args\" must be a JSON array of strings, such as [\"-l\"]");
    a->args = hf_xalloc((n + 1) * sizeof *a->args);
    json_array_foreach (a->tree, i, v) {
        a->args[i] = json_text(v, "args", NULL);
        if (a->args[i] == NULL)
            return hf_fail_field(err, HF_E_bad_query, "args",
                                 "\"args\" must contain only strings without NUL bytes");
    }
    a->spec.args = a->args;
    a->spec.arg_count = n;
    return 0;
}

static int parse_on_detach(const struct http_request *rq, struct spawn_spec *s,
                           struct hf_error *err)
{
    static const char *const modes[] = {"keep", "kill", NULL};
    int mode = 0, rc = native_decode_choice(rq, "on_detach", modes, &mode, err);

    s->on_detach = mode == 1 ? DETACH_KILL : DETACH_KEEP;
    return rc;
}

static const char *default_shell(void)
{
    const char *shell = getenv("SHELL");

    return shell != NULL && shell[0] == '/' ? shell : "/bin/sh";
}

static int terminal_decode(const struct http_request *rq, struct terminal_request *a,
                           const struct connect_request *c, struct hf_error *err)
{
    struct spawn_spec *s = &a->spec;
    const char *command = http_query(rq, "command");

    spec_init(s);
    s->command = command != NULL ? command : default_shell();
    s->cwd = http_query(rq, "cwd");
    s->user = http_query(rq, "user");
    s->tag = http_query(rq, "tag");
    s->label = http_query(rq, "label");
    s->session_id = http_query(rq, "session_id");
    s->pty = true;
    s->rows = c->rows;
    s->cols = c->cols;
    s->source = SOURCE_USER_SHELL;
    if (s->command[0] == '\0' || (s->tag != NULL && s->tag[0] == '\0'))
        return hf_fail_field(err, HF_E_bad_query, s->command[0] == '\0' ? "command" : "tag",
                             "\"command\" and \"tag\" must not be empty");
    if (c->since.kind == SINCE_OFFSET && c->since.n > 0)
        return hf_fail_field(err, HF_E_bad_query, "since",
                             "\"since\" must be 0 for a new terminal");
    if (parse_on_detach(rq, s, err) < 0)
        return -1;
    return decode_args(a, http_query(rq, "args"), err);
}

/* --- the start ------------------------------------------------------------------- */

/* A browser sees only the close: the code first, then as much of the reason as fits. */
static void refuse(struct http_request *rq, const struct hf_error *err)
{
    char reason[124];
    size_t len;

    snprintf(reason, sizeof reason, "%s: %.90s", hf_code_name(err->code), err->detail);
    len = strlen(reason);
    reason[len - utf8_open_tail(reason, len)] = '\0';
    ws_refuse(rq, 1011, reason);
}

static bool attach_first(struct http_request *rq, struct process *p)
{
    struct connect_request request;
    struct hf_error err;

    if (connect_decode(rq, &request, &err) < 0) {
        http_reply_error(rq, &err);
        return false;
    }
    /* the process has just begun: send all of it as it arrives */
    if (request.since.kind == SINCE_DEFAULT)
        request.since = (struct since){SINCE_OFFSET, 0};
    return connect_open(rq, p, &request);
}

static void terminal_on_spawned(struct http_request *rq, struct process *p,
                                const struct hf_error *err)
{
    if (p == NULL)
        refuse(rq, err);
    else if (!attach_first(rq, p))
        process_terminate(p, -1, "detach", NULL, NULL); /* no client knows of it */
}

void terminal_handle(struct http_request *rq)
{
    struct terminal_request request = {0};
    struct connect_request c;
    struct hf_error err;

    /* An invalid query is a 400; a refusal by the system is reported in the close. */
    if (connect_decode(rq, &c, &err) < 0 || terminal_decode(rq, &request, &c, &err) < 0)
        http_reply_error(rq, &err);
    else if (dialect_check_open(dialect_base_of(rq), &err) < 0)
        refuse(rq, &err);
    else
        start_call_begin(
            rq, &request.spec,
            &(struct start_call_options){.done = terminal_on_spawned, .end_if_disconnected = true});
    terminal_request_fini(&request);
}
