/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_ps.c - `holdfast ps`: lists processes. Layer: cli.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/client/client_print.h"
#include "cli/client/client_request.h"

struct ps_args {
    bool all, quiet, no_trunc, usage;
    const char *status, *tag, *session_id, *source, *label;
    int64_t last;
};
#define OPT_ARGS struct ps_args

static const struct opt opts[] = {
    OPT_FLAG("--all", 'a', all, "include processes that have exited"),
    OPT_FLAG("--quiet", 'q', quiet, "print only ids"),
    OPT_FLAG("--usage", 'u', usage, "add CPU time, memory, disk reads and disk writes"),
    OPT_NUMBER("--last", 'n', last, 1, 1000000, "N", "only the N newest processes"),
    OPT_FLAG("--no-trunc", 0, no_trunc, "do not truncate columns to fit the terminal"),
    OPT_TEXT("--status", 0, status, "running|exited", "only processes with this status"),
    OPT_TEXT("--tag", 0, tag, "NAME", "only processes with this tag"),
    OPT_TEXT("--session", 0, session_id, "ID", "only processes of this session"),
    OPT_TEXT("--source", 0, source, "user|agent|user_shell|system",
             "only processes from this source"),
    OPT_TEXT("--label", 0, label, "TEXT", "only processes with this label"),
};

/* All pages in one array, which the caller frees. */
static int fetch(const struct client_call *call, json_t *all)
{
    const struct ps_args *a = call->args;
    char *after = NULL;
    int rc = CLI_OK;

    do {
        fetch_autoreply struct fetch_reply r = {0};
        hf_autobuf struct buf path = {0};

        buf_puts(&path, "/v1/processes?limit=1000");
        if (a->usage)
            buf_puts(&path, "&usage=live");
        request_put_query(call, "status tag session_id source label", &path);
        if (after != NULL) {
            buf_puts(&path, "&after=");
            fetch_escape(&path, after);
        }
        rc = request(call, "GET", buf_cstr(&path), NULL, &r);
        free(after);
        after = NULL;
        if (rc != CLI_OK)
            return rc;
        json_array_extend(all, json_object_get(r.json, "processes"));
        after = hf_xstrdup(json_string_value(json_object_get(r.json, "next")));
    } while (after != NULL && (a->last == 0 || json_array_size(all) < (size_t)a->last));
    free(after);
    while (a->last > 0 && json_array_size(all) > (size_t)a->last)
        json_array_remove(all, json_array_size(all) - 1);
    return rc;
}

static void write_command(const json_t *p, struct buf *out)
{
    const json_t *arg;
    size_t i;

    buf_puts(out, request_json_text(p, "command"));
    json_array_foreach (json_object_get(p, "args"), i, arg) {
        buf_printf(out, " %s", json_string_value(arg));
    }
}

static void write_status(const json_t *p, int64_t now, struct buf *out)
{
    const json_t *exit = json_object_get(p, "exit");

    if (strcmp(request_json_text(p, "status"), "running") == 0) {
        buf_puts(out, "running ");
        print_ago(out, request_json_text(p, "created_at"), now);
        return;
    }
    if (json_is_integer(json_object_get(p, "exit_code")))
        buf_printf(out, "exited (%lld) ", (long long)request_json_number(p, "exit_code"));
    else
        buf_printf(out, "%s ", request_json_text(exit, "kind"));
    print_ago(out, request_json_text(p, "exited_at"), now);
    buf_puts(out, " ago");
}

#define USAGE_CELLS 4

/* "-": not known. */
static void write_bytes(const json_t *usage, const char *key, char out[24])
{
    static const char units[] = "KMGT";
    double n = (double)request_json_number(usage, key) / 1024;
    size_t i = 0;

    while (n >= 1024 && i < sizeof units - 2) {
        n /= 1024;
        i++;
    }
    if (json_is_integer(json_object_get(usage, key)))
        snprintf(out, 24, "%.1f%c", n, units[i]);
    else
        snprintf(out, 24, "-");
}

/* CPU, MEMORY, READ, WRITTEN. A running process has its memory now, an ended one its largest. */
static void write_usage(const json_t *p, char cells[USAGE_CELLS][24])
{
    const json_t *u = json_object_get(p, "usage");
    bool live = json_is_integer(json_object_get(u, "rss_bytes"));
    int64_t us = request_json_number(u, "user_us") + request_json_number(u, "system_us");

    if (json_is_object(u))
        snprintf(cells[0], 24, "%.2fs", (double)us / 1000000);
    else
        snprintf(cells[0], 24, "-");
    write_bytes(u, live ? "rss_bytes" : "max_rss_bytes", cells[1]);
    write_bytes(u, "disk_read_bytes", cells[2]);
    write_bytes(u, "disk_written_bytes", cells[3]);
}

static void add_row(struct columns *t, const json_t *p, int64_t now, bool with_usage)
{
    hf_autobuf struct buf status = {0}, command = {0};
    char viewers[24], size[24] = "-", usage[USAGE_CELLS][24];

    write_status(p, now, &status);
    write_command(p, &command);
    write_usage(p, usage);
    snprintf(viewers, sizeof viewers, "%lld", (long long)request_json_number(p, "viewers"));
    if (json_is_true(json_object_get(p, "pty")))
        snprintf(size, sizeof size, "%lldx%lld", (long long)request_json_number(p, "cols"),
                 (long long)request_json_number(p, "rows"));
    if (with_usage)
        columns_add(t, (const char *[]){request_json_text(p, "id"), request_json_text(p, "tag"),
                                        size, buf_cstr(&status), viewers, usage[0], usage[1],
                                        usage[2], usage[3], buf_cstr(&command)});
    else
        columns_add(t, (const char *[]){request_json_text(p, "id"), request_json_text(p, "tag"),
                                        size, buf_cstr(&status), viewers, buf_cstr(&command)});
}

static const char *colour_of(const json_t *p)
{
    if (strcmp(request_json_text(p, "status"), "running") == 0)
        return "\033[32m";
    return request_json_number(p, "exit_code") == 0 ? "\033[2m" : "\033[31m";
}

static void print_table(const json_t *list, const struct ps_args *a)
{
    static const char *const titles[] = {"ID", "TAG", "TTY", "STATUS", "VIEWERS", "COMMAND"};
    static const char *const usage_titles[] = {"ID",  "TAG",    "TTY",  "STATUS",  "VIEWERS",
                                               "CPU", "MEMORY", "READ", "WRITTEN", "COMMAND"};
    size_t i, n = json_array_size(list);
    const char **colours = hf_xalloc((n + 1) * sizeof *colours);
    int64_t now = clock_wall_ms();
    struct columns t;
    json_t *p;

    columns_init(&t, a->usage ? 10 : 6, a->usage ? 9 : 5, a->usage ? usage_titles : titles);
    json_array_foreach ((json_t *)list, i, p) {
        add_row(&t, p, now, a->usage);
        colours[i] = colour_of(p);
    }
    t.colours = colours;
    columns_print(&t, a->no_trunc ? 0 : print_terminal_columns());
    columns_fini(&t);
    free(colours);
}

static int ps_main(struct client_call *call)
{
    struct ps_args *a = call->args;
    json_auto_t *all = json_array();
    size_t i;
    json_t *p;
    int rc;

    if (a->status == NULL && !a->all)
        a->status = "running";
    rc = fetch(call, all);
    if (rc != CLI_OK || print_items(call, all))
        return rc;
    if (!a->quiet)
        print_table(all, a);
    else
        json_array_foreach (all, i, p) {
            printf("%s\n", request_json_text(p, "id"));
        }
    return CLI_OK;
}

const struct command ps_command = {
    .name = "ps",
    .operands = "",
    .summary = "list processes, newest first",
    .about =
        "TTY is the size of the process's terminal, columns by rows. With --usage, MEMORY is what\n"
        "a running process and its descendants have now, and the largest resident set of one\n"
        "that has exited.\n",
    COMMAND_OPTS(opts),
    .run = ps_main,
};
