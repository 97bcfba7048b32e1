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
    int64_t expires_ms, uses;
};
#define OPT_ARGS struct share_args

static const struct opt opts[] = {
    OPT_FLAG("--type", 0, type, "allow typing, not only watching"),
    OPT_TIME("--expires", 0, expires_ms, "TIME", "lifetime of the link (24h)"),
    OPT_NUMBER("--uses", 0, uses, 1, 1000000, "N", "how often the link can be used (no limit)"),
    OPT_TEXT("--label", 'l', label, "TEXT", "a description"),
    OPT_FLAG("--list", 0, list, "list the links of the process"),
    OPT_TEXT("--revoke", 0, revoke, "LINK", "revoke a link"),
};

static void write_body(const struct share_args *a, struct buf *out)
{
    struct json_out o;

    json_out_init(&o, out);
    json_open(&o, '{');
    json_kstr(&o, "role", a->type ? "type" : "watch");
    if (a->expires_ms > 0)
        json_kint(&o, "expires_in_ms", a->expires_ms);
    if (a->uses > 0)
        json_kint(&o, "max_uses", a->uses);
    if (a->label != NULL)
        json_kstr(&o, "label", a->label);
    json_close(&o, '}');
}

/* Completes a path with the URL of the daemon. */
static void print_link(const struct client_call *call, const json_t *link)
{
    const char *url = request_json_text(link, "url");
    bool whole = strstr(url, "://") != NULL || call->place.unix_path != NULL;
    size_t len = whole ? 0 : strlen(call->place.url);

    while (len > 0 && call->place.url[len - 1] == '/')
        len--;
    printf("%.*s%s\n", (int)len, call->place.url, url);
    fprintf(stderr, "holdfast: may %s until %s; to revoke it: holdfast share --revoke %s %s\n",
            request_json_text(link, "role"), request_json_text(link, "expires_at"),
            request_json_text(link, "id"), call->operands[0]);
}

static void print_links(const json_t *list)
{
    static const char *const titles[] = {"LINK", "ROLE", "USES", "EXPIRES", "LABEL"};
    struct columns t;
    const json_t *l;
    size_t i;

    columns_init(&t, 5, 4, titles);
    json_array_foreach ((json_t *)list, i, l) {
        char uses[24];

        snprintf(uses, sizeof uses, "%lld", (long long)request_json_number(l, "uses"));
        columns_add(&t, (const char *[]){request_json_text(l, "id"), request_json_text(l, "role"),
                                         uses, request_json_text(l, "expires_at"),
                                         request_json_text(l, "label")});
    }
    columns_print(&t, print_terminal_columns());
    columns_fini(&t);
}

static int share_list(const struct client_call *call, const char *path)
{
    fetch_autoreply struct fetch_reply r = {0};
    const json_t *links;
    int rc = request(call, "GET", path, NULL, &r);

    if (rc != CLI_OK)
        return rc;
    links = json_object_get(r.json, "links");
    if (!print_list(call, links))
        print_links(links);
    return CLI_OK;
}

static int share_new(const struct client_call *call, const char *path)
{
    fetch_autoreply struct fetch_reply r = {0};
    hf_autobuf struct buf body = {0};
    int rc;

    write_body(call->args, &body);
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
    .summary = "create a link with which others can watch a process",
    .about = "The link is printed only once. Treat it like a password.\n",
    COMMAND_OPTS(opts),
    .min_operands = 1,
    .max_operands = 1,
    .operand_kind = OPERAND_PROCESS,
    .run = share_main,
};
