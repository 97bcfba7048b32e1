/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_not_started.h - what was asked for and has not been started, or could not be
 *
 * A process exists from its start on; until then a container or exec is one of these. They are few and
 * bounded: execs that nobody starts go when there are too many, containers are refused then. The
 * newest small ones are in a note, so that the next worker knows them. Who attaches or waits before the
 * start is listed with it. Owned by struct docker. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_NOT_STARTED_H
#define HF_DIALECTS_DOCKER_DOCKER_NOT_STARTED_H

#include "dialects/docker/docker.h"

enum created_state { CREATED_NEW, CREATED_STARTING, CREATED_FAILED };

struct created {
    struct list link;
    struct docker *docker;
    char id[DOCKER_ID_LEN + 1];
    json_t *config; /* docker_decode.h */
    size_t bytes;
    enum created_state state;
    int exit_code; /* CREATED_FAILED */
    char error[400];
    int64_t created_ms;
    int64_t rows, cols; /* asked for while it was being started; 0: not */
    struct timer *hold; /* its start waits for the size of its terminal; NULL: it does not */
    struct list streams, waits;
    size_t stream_count;
};

/* Takes the config. NULL: err says which limit was hit. */
struct created *docker_created_new(struct docker *dk, json_t *config, struct hf_error *err);
struct created *docker_created_find(struct docker *dk, const char *id);
/* Nobody may be listed with it any more. */
void docker_created_remove(struct created *c);
/* Something of it has changed that the next worker should know. */
void docker_created_keep(struct docker *dk);
void docker_created_recall(struct docker *dk); /* as the last worker had them */
void docker_created_free_all(struct docker *dk);

static inline bool created_is_exec(const struct created *c)
{
    return strcmp(docker_text(c->config, "kind"), "exec") == 0;
}

#endif
