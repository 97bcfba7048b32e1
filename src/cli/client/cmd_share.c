/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_share.c - `holdfast share`: links with which others can watch a process or type. Layer: cli.
 */
#include <stdio.h>
#include <string.h>

#include "cli/client/client_print.h"
#include "cli/client/client_request.h"

struct share_args {
    bool type, list;
    const char *label, *revoke;
    int64_t expires_in_ms, max_uses;
};
#define OPT_ARGS struct share_args

static const struct opt opts[] = {
    OPT_FLAG("--type", 0, type, "allow typing, not only watching"),
    OPT_TIME("--expires", 0, expires_in_ms, "TIME", "lifetime of the link (24h)"),
    OPT_NUMBER("--uses", 0, max_uses, 1, 1000000, "N",
               "how many times the link can be used (no limit)"),
    OPT_TEXT("--label", 'l', label, "TEXT", "a description"),
    OPT_FLAG("--list", 0, list, "list the links of the process"),
    OPT_TEXT("--revoke", 0, revoke, "LINK", "revoke a link"),
};

/* Completes a path with the URL of the daemon. */
static void print_link(const struct client_call *call, const json_t *link)
{
    const char *url = request_json_text(link, "url");
    bool whole = strstr(url, "://") != NULL || call->place.unix_path != NULL;
    size_t len = whole ? 0 : strlen(call->place.url);

    while (len > 0 && call->place.url[len - 1] == '/')
        len--;
    printf("%.*s%s\n", (int)len, call->place.url, url);
    fprintf(stderr,
            "holdfast: the link allows %s until %s; to revoke it: holdfast share --revoke %s %s\n",
            request_json_text(link, "role"), request_json_text(link, "expires_at"),
            request_json_text(link, "id"), call->operands[0]);
}

static int share_list(const struct client_call *call, const char *path)
{
    fetch_autoreply struct fetch_reply r = {0};
    static const char *const titles[] = {"LINK", "ROLE", "USES", "EXPIRES", "LABEL"};
    static const char *const fields[] = {"id", "role", "uses", "expires_at", "label"};
    int rc = request(call, "GET", path, NULL, &r);

    if (rc == CLI_OK)
        print_list(call, json_object_get(r.json, "links"), 5, titles, fields);
    return rc;
}

static int share_new(const struct client_call *call, const char *path)
{
    fetch_autoreply struct fetch_reply r = {0};
    const struct share_args *a = call->args;
    hf_autobuf struct buf body = {0};
    struct json_out o;
    int rc;

    json_out_init(&o, &body);
    json_open(&o, '{');
    json_kstr(&o, "role", a->type ? "type" : "watch");
    request_put_options(call, "expires_in_ms max_uses label", &o);
    json_close(&o, '}');
    rc = request(call, "POST", path, &body, &r);
    if (rc == CLI_OK && !print_value(call, r.json))
        print_link(call, r.json);
    return rc;
}

static int share_end(const struct client_call *call, struct buf *path, const char *link)
{
    fetch_autoreply struct fetch_reply r = {0};

    buf_putc(path, '/');
    fetch_escape(path, link);
    return request(call, "DELETE", buf_cstr(path), NULL, &r);
}

static int share_main(struct client_call *call)
{
    const struct share_args *a = call->args;
    hf_autobuf struct buf path = {0};
    int rc = request_process_path(call, call->operands[0], &path, "/links");

    if (rc != CLI_OK)
        return rc;
    if (a->list)
        return share_list(call, buf_cstr(&path));
    return a->revoke != NULL ? share_end(call, &path, a->revoke) : share_new(call, buf_cstr(&path));
}

const struct command share_command = {
    .name = "share",
    .operands = "PROCESS",
    .summary = "create a link that lets others watch a process",
    .about = "The link is printed only once. Treat it like a password.\n",
    COMMAND_OPTS(opts),
    .run = share_main,
};
