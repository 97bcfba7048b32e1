/* SPDX-License-Identifier: Apache-2.0 */
/*
 * routes_command.c - `holdfast routes`: lists every endpoint of a daemon and the role it needs
 *
 * The rows are those that the worker mounts, so the list cannot miss one. Operators see which
 * endpoints need no token, and tests/attack calls every row without the necessary role.
 * Layer: cli.
 */
#include "cli/builtin_commands.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/limits.h"
#include "cli/client/client_print.h"
#include "cli/dialects.h"
#include "cli/optparse.h"
#include "dialects/native/native_handlers.h"
#include "transport/router.h"

struct routes_cli {
    bool json, public;
};

#define OPT_ARGS struct routes_cli

static const struct opt option_rows[] = {
    OPT_FLAG("--json", 0, json, "print JSON"),
    OPT_FLAG("--public", 0, public, "list only the endpoints that need no token"),
};

static const struct opt_table table = {
    .command = "routes",
    OPT_ROWS(option_rows),
    .usage = "[OPTION...]",
    .about =
        "Lists every endpoint that `serve` has with all dialects of this binary enabled, and the\n"
        "role that it needs. It does not connect to a daemon. `no token` marks endpoints that\n"
        "anyone who can reach the address may call.\n",
};

static const struct {
    unsigned flag;
    const char *name;
} flag_names[] = {
    {ROUTE_PUBLIC, "public"},   {ROUTE_UPGRADE, "websocket"},    {ROUTE_RAW, "raw_upgrade"},
    {ROUTE_PREFIX, "prefix"},   {ROUTE_STREAM_BODY, "streamed"}, {ROUTE_SCOPED, "link"},
    {ROUTE_NO_BODY, "no_body"}, {ROUTE_ANY_QUERY, "any_query"},  {ROUTE_PROBE, "probe"},
    {ROUTE_CHANGES, "changes"},
};
#define FLAGS (sizeof flag_names / sizeof *flag_names)

/* One table of the daemon: the native API or a dialect. */
struct listed {
    const char *name, *prefix;
    const struct route_group *groups;
    const struct auth_ways *ways;
    int port; /* 0: no listener of its own */
};

struct printing {
    const struct routes_cli *cli;
    struct json_out json;
    struct columns columns;
};

/* --- as JSON ------------------------------------------------------------------------------ */

/* "A B" as ["A","B"]; no words: []. */
static void put_words(struct json_out *o, const char *key, const char *words)
{
    json_key(o, key);
    json_open(o, '[');
    for (const char *p = words; p != NULL && *p != '\0'; p += strspn(p, ", ")) {
        size_t len = strcspn(p, ", ");

        json_strn(o, p, len);
        p += len;
    }
    json_close(o, ']');
}

static void put_flags(struct json_out *o, unsigned flags)
{
    json_key(o, "flags");
    json_open(o, '[');
    for (size_t i = 0; i < FLAGS; i++)
        if (flags & flag_names[i].flag)
            json_str(o, flag_names[i].name);
    json_close(o, ']');
}

static void put_route(struct json_out *o, const struct listed *l, const struct route *r)
{
    char methods[METHODS_TEXT_BYTES], path[512];

    router_methods_text(r->methods, methods);
    snprintf(path, sizeof path, "%s%s", l->prefix, r->pattern);
    json_open(o, '{');
    put_words(o, "methods", methods);
    json_kstr(o, "path", path);
    json_kstr(o, "role", r->flags & ROUTE_PUBLIC ? NULL : http_role_name(r->role));
    put_flags(o, r->flags);
    json_kint(o, "body_bytes",
              r->flags & ROUTE_NO_BODY ? 0
              : r->body_max > 0        ? (int64_t)r->body_max
                                       : LIMIT_JSON_BODY_BYTES);
    put_words(o, "query", r->query);
    json_close(o, '}');
}

/* The platform's own ways to send the token, besides Authorization: Bearer. */
static void put_ways(struct json_out *o, const struct auth_ways *w)
{
    static const struct auth_ways none;

    w = w != NULL ? w : &none;
    json_key(o, "credentials");
    json_open(o, '{');
    put_words(o, "headers", w->headers);
    put_words(o, "query", w->query);
    put_words(o, "upgrade_query", w->upgrade_query);
    put_words(o, "basic_query", w->basic_query);
    json_kbool(o, "basic", w->basic);
    json_kstr(o, "scheme", w->scheme);
    json_kbool(o, "own_for_upgrade", w->upgrade_own != NULL);
    json_close(o, '}');
}

/* --- as a table --------------------------------------------------------------------------- */

static void add_row(struct printing *p, const struct listed *l, const struct route *r)
{
    char methods[METHODS_TEXT_BYTES], path[512];
    const char *kind = r->flags & ROUTE_RAW       ? "websocket or raw upgrade"
                       : r->flags & ROUTE_UPGRADE ? "websocket"
                                                  : "";

    router_methods_text(r->methods, methods);
    snprintf(path, sizeof path, "%s%s%s", l->prefix, r->pattern,
             r->flags & ROUTE_PREFIX ? "*" : "");
    columns_add(&p->columns, (const char *const[]){
                                 r->flags & ROUTE_PUBLIC ? "no token" : http_role_name(r->role),
                                 methods, path, kind});
}

/* --- both --------------------------------------------------------------------------------- */

static void put_rows(struct printing *p, const struct listed *l)
{
    struct route_rows all;

    route_rows_make(&all, l->groups);
    for (size_t i = 0; i < all.count; i++) {
        if (p->cli->public && !(all.rows[i].flags & ROUTE_PUBLIC))
            continue;
        if (p->cli->json)
            put_route(&p->json, l, &all.rows[i]);
        else
            add_row(p, l, &all.rows[i]);
    }
    route_rows_fini(&all);
}

static void put_listed(struct printing *p, const struct listed *l)
{
    if (!p->cli->json) {
        put_rows(p, l);
        return;
    }
    json_open(&p->json, '{');
    json_kstr(&p->json, "dialect", l->name);
    json_kstr(&p->json, "prefix", l->prefix);
    json_kint(&p->json, "port", l->port);
    put_ways(&p->json, l->ways);
    json_kopen(&p->json, "routes", '[');
    put_rows(p, l);
    json_close(&p->json, ']');
    json_close(&p->json, '}');
}

static void each_listed(struct printing *p)
{
    put_listed(p, &(struct listed){.name = "native", .prefix = "", .groups = native_route_groups});
    for (int i = 0; dialects_all[i] != NULL; i++) {
        const struct dialect *d = dialects_all[i];

        put_listed(p, &(struct listed){d->name, d->prefix, d->groups, d->ways, d->port});
    }
}

static void print_json(struct printing *p)
{
    struct buf text = {0};

    json_out_init(&p->json, &text);
    json_open(&p->json, '[');
    each_listed(p);
    json_close(&p->json, ']');
    buf_putc(&text, '\n');
    print_buf(&text);
}

static void print_table(struct printing *p)
{
    static const char *const titles[] = {"ROLE", "METHODS", "PATH", ""};

    columns_init(&p->columns, 4, -1, titles);
    each_listed(p);
    columns_print(&p->columns, 0);
    columns_fini(&p->columns);
}

int routes_main(int argc, char **argv)
{
    struct routes_cli cli = {0};
    struct printing p = {.cli = &cli};
    int rc = opt_table_parse(&table, argc, argv, &cli);

    if (rc >= 0)
        return rc;
    if (cli.json)
        print_json(&p);
    else
        print_table(&p);
    return print_done(0);
}
