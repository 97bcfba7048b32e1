/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_unsupported.c - calls that one machine cannot carry out on itself
 *
 * A 404 would say that the machine is gone, and clients then create another. So each of these says
 * what is missing. Layer: dialects.
 */
#include <string.h>

#include "dialects/fly/fly.h"

static const struct {
    const char *call, *why; /* a segment of the path */
} reasons[] = {
    {"stop", "the daemon runs inside the machine and cannot stop it; it keeps running"},
    {"suspend", "the daemon cannot save the memory of its machine; it keeps running"},
    {"restart", "the daemon runs inside its machine and cannot restart it; it keeps running"},
    {"cordon", "the daemon is not the proxy that sends requests to the machine"},
    {"uncordon", "the daemon is not the proxy that sends requests to the machine"},
    {"lease", "the machine cannot be leased: several clients may use it at a time"},
    {"metadata", "the daemon keeps no metadata of its machine"},
    {"events", "the daemon keeps no history of its machine"},
    {"versions", "the daemon keeps no history of its machine"},
    {"volumes", "the daemon has no volumes apart from the disks of its machine"},
    {"secrets", "the daemon keeps no secrets; give variables to a command"},
    {"machines", "the daemon runs inside its one machine: it cannot create, change or destroy one"},
    {"apps", "the daemon is one machine of one app: it cannot list, create or destroy apps"},
    {"checkpoint", "the daemon cannot save the machine it runs on"},
    {"checkpoints", "the daemon cannot save the machine it runs on"},
    {"services", "the daemon manages no services; start a detachable session instead"},
    {"policy", "the daemon does not control the network, privileges and memory of its machine"},
    {"proxy", "the daemon forwards no ports of a sprite; the gateway publishes ports"},
    {"ports", "the daemon does not list the ports of its machine"},
    {"upgrade", "a sprite has no version of its own; `holdfast upgrade` replaces the daemon"},
    {"check", "this dialect has no health check; GET /healthz of this daemon is one"},
};

/* NULL: none for this segment of the path, counted from "v1". */
static const char *reason_for(struct http_request *rq, int segment)
{
    const char *at = strstr(http_path(rq), "/v1/");

    while (at != NULL && segment-- > 0)
        at = strchr(at + 1, '/');
    for (size_t i = 0; at != NULL && i < sizeof reasons / sizeof *reasons; i++)
        if (strcspn(at + 1, "/") == strlen(reasons[i].call) &&
            strncmp(at + 1, reasons[i].call, strlen(reasons[i].call)) == 0)
            return reasons[i].why;
    return NULL;
}

static void refuse(struct http_request *rq, int segment)
{
    const char *why = NULL;

    for (; why == NULL && segment > 0; segment -= 2)
        why = reason_for(rq, segment);
    dialect_fail(rq, HF_E_not_implemented, "%s", why != NULL ? why : "this call is not supported");
}

/* /v1/apps/{app}/machines/{machine}/CALL */
void fly_machine_unsupported(struct http_request *rq)
{
    if (fly_machine(rq))
        refuse(rq, 5);
}

/* /v1/apps/{app}/CALL */
void fly_app_unsupported(struct http_request *rq)
{
    refuse(rq, 3);
}

/* /v1/sprites/{sprite}/CALL */
void fly_sprite_unsupported(struct http_request *rq)
{
    const char *why = reason_for(rq, 3);

    dialect_fail(rq, HF_E_not_implemented, "%s",
                 why != NULL ? why : "the daemon is one sprite, and has no settings of its own");
}
