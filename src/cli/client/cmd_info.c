/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_info.c - `holdfast info`: version, dialects and activity of the daemon. Layer: cli.
 */
#include <stdio.h>

#include "cli/client/client_print.h"
#include "cli/client/client_request.h"

static void print_words(const char *title, const json_t *object)
{
    const char *key;
    json_t *v;

    printf("%-12s", title);
    json_object_foreach ((json_t *)object, key, v)
        if (json_is_true(v))
            printf(" %s", key);
    printf("\n");
}

static void print_dialects(const json_t *list)
{
    const json_t *d;
    size_t i;

    printf("%-12s", "dialects");
    json_array_foreach ((json_t *)list, i, d) {
        printf(" %s", json_is_string(d) ? json_string_value(d) : request_json_text(d, "name"));
    }
    printf("\n");
}

static int info_main(struct client_call *call)
{
    fetch_autoreply struct fetch_reply info = {0}, activity = {0};
    int rc = request(call, "GET", "/v1/info", NULL, &info);

    if (rc != CLI_OK || print_value(call, info.json))
        return rc;
    rc = request(call, "GET", "/v1/activity", NULL, &activity);
    if (rc != CLI_OK)
        return rc;
    printf("%-12s %s\n", "daemon", call->place.url);
    printf("%-12s %s\n", "version", request_json_text(info.json, "version"));
    printf("%-12s %s\n", "started", request_json_text(info.json, "started_at"));
    printf("%-12s %s\n", "your role", request_json_text(info.json, "role"));
    print_dialects(json_object_get(info.json, "dialects"));
    print_words("features", json_object_get(info.json, "features"));
    printf("%-12s %lld running, %lld viewers, %lld connections, idle for %lld s\n", "activity",
           (long long)request_json_number(activity.json, "running"),
           (long long)request_json_number(activity.json, "viewers"),
           (long long)request_json_number(activity.json, "connections"),
           (long long)request_json_number(activity.json, "idle_ms") / 1000);
    return CLI_OK;
}

const struct command info_command = {
    .name = "info",
    .operands = "",
    .summary = "show version, features and activity of the daemon",
    .about = "--json includes its limits.\n",
    .run = info_main,
};
