/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_list.c - GET /containers/json. Layer: dialects.
 */
#include <string.h>

#include "dialects/docker/docker_filter.h"
#include "dialects/docker/docker_inspect.h"

struct listing {
    struct docker *docker;
    struct json_out o;
    json_t *filters;
    bool all;
    int64_t left; /* -1: no limit */
};

/* A filter on the status implies containers that are not running. */
static bool listing_wants(const struct listing *l, const struct docker_entry *b)
{
    const struct docker_subject s = {
        .id = b->id,
        .name = b->name,
        .image = docker_entry_image(b),
        .status = docker_entry_status(b),
        .labels = json_object_get(b->config, "labels"),
        .exit_code = strcmp(docker_entry_status(b), "exited") == 0 ? docker_entry_exit_code(b) : -1,
    };

    return (l->all || docker_entry_is_running(b)) &&
           docker_filter_fits(DOCKER_FILTER_CONTAINERS, l->filters, &s);
}

/* Execs that are not running are not listed. */
static bool listing_add(void *arg, struct docker_entry *b)
{
    struct listing *l = arg;
    bool idle_exec = b->kind == DOCKER_ENTRY_CREATED && created_is_exec(b->created);

    if (!idle_exec && l->left != 0 && listing_wants(l, b)) {
        docker_inspect_summary(l->docker, &l->o, b);
        l->left -= l->left > 0;
    }
    docker_entry_fini(b);
    return l->left == 0;
}

static bool filters_state(const json_t *filters)
{
    return json_object_get(filters, "status") != NULL || json_object_get(filters, "exited") != NULL;
}

void docker_list(struct http_request *rq)
{
    struct docker *dk = docker_of(rq);
    struct listing l = {.docker = dk, .left = -1};
    struct hf_error err = {0};

    if (!docker_query_number(rq, "limit", "limit", INT32_MAX, &l.left))
        return;
    l.left = l.left > 0 ? l.left : -1;
    l.filters = docker_filter_parse(DOCKER_FILTER_CONTAINERS, http_query(rq, "filters"), &err);
    if (l.filters == NULL) {
        docker_error(rq, &err);
        return;
    }
    l.all = docker_query(rq, "all") || l.left > 0 || filters_state(l.filters);
    buf_clear(&dk->base.scratch);
    json_out_init(&l.o, &dk->base.scratch);
    json_open(&l.o, '[');
    docker_entry_each(dk, listing_add, &l);
    json_close(&l.o, ']');
    json_decref(l.filters);
    buf_putc(&dk->base.scratch, '\n');
    docker_headers(rq);
    http_reply_json(rq, 200, &dk->base.scratch);
}
