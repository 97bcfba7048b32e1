/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_events.c - `holdfast events`: prints events as they happen. Layer: cli.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/client/client_print.h"
#include "cli/client/client_request.h"
#include "cli/client/sse_parse.h"

#define SILENCE_MS 45000 /* the daemon sends a comment every 15 s */
#define AGAIN_MS 500
#define TRIES_MOST 120 /* a minute */
/* No event has this id, so the stream begins with a reset, which carries the newest id. */
#define NO_EVENT_YET "9223372036854775807"
#define LEARN_MS 5000

struct events_args {
    bool all;
    const char *since, *session_id, *tag;
    int64_t count;
};
#define OPT_ARGS struct events_args

static const struct opt opts[] = {
    OPT_FLAG("--all", 'a', all, "include events of viewers and sessions"),
    OPT_TEXT("--since", 0, since, "N", "start after event N; 0: all kept events"),
    OPT_NUMBER("--count", 'n', count, 1, INT64_MAX, "N", "exit after N events"),
    OPT_TEXT("--session", 0, session_id, "ID", "only events of this session"),
    OPT_TEXT("--tag", 0, tag, "NAME", "only events of processes with this tag"),
};

struct listening {
    const struct client_call *call;
    char *last; /* id of the last event */
    int64_t left;
    bool done;
};

/* The subject of the event: a process, or a session and perhaps one of its commands. */
static void put_subject(struct buf *line, const json_t *e)
{
    const json_t *p = json_object_get(e, "process"), *command = json_object_get(e, "command");
    const json_t *code;

    if (p == NULL) {
        buf_puts(line, request_json_text(json_object_get(e, "session"), "id"));
        p = command;
    } else {
        buf_puts(line, request_json_text(p, "id"));
    }
    code = json_object_get(p, "exit_code");
    if (p != NULL)
        buf_putc(line, ' ');
    print_plain(line, request_json_text(p, "command"));
    if (json_is_integer(code))
        buf_printf(line, " exit %lld", (long long)json_integer_value(code));
}

static void print_event(const struct listening *l, const char *name, const json_t *e)
{
    bool colour = print_uses_colour(STDOUT_FILENO);
    struct buf line = {0};
    char *text;

    if (l->call->json) {
        text = json_dumps(e, JSON_COMPACT);
        buf_printf(&line, "%s\n", text != NULL ? text : "");
        free(text);
    } else if (l->call->format != NULL) {
        print_format_write(&line, l->call->format, e);
    } else {
        buf_printf(&line, "%s %s%s%s ", request_json_text(e, "time"), colour ? "\033[1m" : "", name,
                   colour ? "\033[0m" : "");
        put_subject(&line, e);
        buf_putc(&line, '\n');
    }
    print_buf(&line);
}

static void keep_last(struct listening *l, char *id)
{
    free(l->last);
    l->last = id;
}

static void on_event(void *arg, const char *name, const char *data, const char *id)
{
    struct listening *l = arg;
    json_auto_t *e = json_parse(data, strlen(data), NULL);

    if (l->done || e == NULL)
        return;
    if (id[0] != '\0')
        keep_last(l, hf_xstrdup(id));
    if (strcmp(name, "reset") == 0) {
        command_complain(l->call, 0,
                         "some events are no longer kept; holdfast ps -a shows the current state");
        return;
    }
    print_event(l, name, e);
    l->done = l->left > 0 && --l->left == 0;
}

/* --- one connection ---------------------------------------------------------------- */

/* Opens the stream after event `since`. CLI_OK, -errno and err, or an exit code after an error
 * message. */
static int open_stream(struct listening *l, const char *since, bool again, struct fetch_stream *s,
                       struct hf_error *err)
{
    const struct events_args *a = l->call->args;
    struct fetch_request get = {.method = "GET", .accept = "text/event-stream"};
    fetch_autoreply struct fetch_reply r = {0};
    hf_autobuf struct buf path = {0};
    int rc;

    buf_printf(&path, "/v1/events?all=%d", a->all);
    since = since != NULL ? since : a->since;
    if (since != NULL) {
        buf_puts(&path, "&since=");
        fetch_escape(&path, since);
    }
    request_put_query(l->call, "session_id tag", &path);
    get.path = buf_cstr(&path);
    rc = request_open(l->call, &get, s, err);
    if (rc < 0 || rc == 200)
        return rc < 0 ? rc : CLI_OK;
    fetch_rest(s, &r);
    rc = again && request_may_retry(r.status) ? -EAGAIN : request_print_problem(l->call, &r);
    fetch_close(s);
    return rc;
}

/* CLI_OK: the stream ended, reopen it; -EAGAIN: it cannot be opened yet; or an exit code. */
static int listen_once(struct listening *l, bool first)
{
    struct sse_parse in = {.on_event = on_event, .arg = l};
    struct hf_error err = {0};
    struct fetch_stream s;
    const char *piece;
    ssize_t n;
    int rc = open_stream(l, l->last, !first, &s, &err);

    if (rc < 0)
        return first ? request_print_unreachable(l->call, &err) : -EAGAIN;
    if (rc != CLI_OK)
        return rc;
    while (!l->done && !in.failed && (n = fetch_next(&s, &piece, SILENCE_MS)) > 0)
        sse_parse_feed(&in, piece, (size_t)n);
    sse_parse_fini(&in);
    fetch_close(&s);
    return CLI_OK;
}

static void on_newest(void *arg, const char *name, const char *data, const char *id)
{
    struct listening *l = arg;
    json_auto_t *e = json_parse(data, strlen(data), NULL);
    struct buf newest = {0};

    (void)id;
    if (strcmp(name, "reset") != 0 || l->last != NULL)
        return;
    buf_printf(&newest, "%lld", (long long)request_json_number(e, "next") - 1);
    keep_last(l, hf_xstrdup(buf_cstr(&newest)));
    buf_fini(&newest);
}

/*
 * Starts with the events from now on. Without the number of the newest event, a connection that
 * breaks before the first event would resume too late and miss those in between.
 */
static int learn_newest(struct listening *l)
{
    struct sse_parse in = {.on_event = on_newest, .arg = l};
    struct request_tries tries = {0};
    struct hf_error err = {0};
    struct fetch_stream s;
    const char *piece;
    ssize_t n = 0;
    int rc;

    do {
        request_begin(&tries);
        rc = open_stream(l, NO_EVENT_YET, false, &s, &err);
        if (rc != CLI_OK)
            return rc < 0 ? request_print_unreachable(l->call, &err) : rc;
        while (l->last == NULL && !in.failed && (n = fetch_next(&s, &piece, LEARN_MS)) > 0)
            sse_parse_feed(&in, piece, (size_t)n);
        sse_parse_fini(&in);
        fetch_close(&s);
        in = (struct sse_parse){.on_event = on_newest, .arg = l};
    } while (l->last == NULL && request_again(&tries, (int)n));
    if (l->last == NULL)
        command_complain(
            l->call, CLI_OK,
            "this daemon does not report the number of its newest event; if the connection breaks, "
            "some events may be missed");
    return CLI_OK;
}

static int events_main(struct client_call *call)
{
    const struct events_args *a = call->args;
    struct listening l = {.call = call, .left = a->count};
    int rc = a->since != NULL ? CLI_OK : learn_newest(&l), tries = 0;

    while (!l.done && (rc == CLI_OK || rc == -EAGAIN) && tries < TRIES_MOST) {
        if (tries++ > 0)
            poll(NULL, 0, AGAIN_MS);
        rc = listen_once(&l, tries == 1 &&
                                 a->since != NULL); /* later on, it has already responded once */
        if (rc == CLI_OK)
            tries = 1;
    }
    free(l.last);
    if (rc == -EAGAIN)
        rc = command_complain(call, CLI_NO_DAEMON, "cannot reconnect to the daemon at %s",
                              call->place.url);
    return rc;
}

const struct command events_command = {
    .name = "events",
    .operands = "",
    .summary = "print events of processes as they happen",
    .about = "Prints one line for each event, with --json one object a line. A lost connection is\n"
             "reopened without missing an event.\n",
    COMMAND_OPTS(opts),
    .run = events_main,
};
