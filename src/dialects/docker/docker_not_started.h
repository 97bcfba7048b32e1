/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_not_started.h - containers and execs that were created and have not been started, or
 * failed to start
 *
 * A process exists only from its start on; until then a container or exec is one of these. Their
 * number is bounded: beyond it, execs that are not being started are dropped, and new containers
 * are refused. The newest small ones are in a note, so that the next worker knows them. Clients
 * that attach or wait before the start are listed with the entry. Owned by struct docker.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_NOT_STARTED_H
#define HF_DIALECTS_DOCKER_DOCKER_NOT_STARTED_H

#include "dialects/docker/docker.h"
#include "dialects/docker/docker_limits.h"

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
    int64_t rows, cols;      /* requested while it was being started; 0: not */
    struct timer *hold;      /* its start waits for the terminal's size; NULL: it does not */
    struct starter *starter; /* docker_launch.c: the request that starts it; NULL: none */
    struct list streams, waits;
};

/* Takes ownership of the config. NULL: err names the limit. */
struct created *docker_created_new(struct docker *dk, json_t *config, struct hf_error *err);
/* The next run of a container, under its id. Beyond the limits, since it is started at once. */
struct created *docker_created_again(struct docker *dk, json_t *config, const char *id);
/* No client may be listed with it any more. */
void docker_created_remove(struct created *c);
/* Something has changed that the next worker should know. */
void docker_created_keep(struct docker *dk);
void docker_created_recall(struct docker *dk); /* the entries of the last worker */
void docker_created_free_all(struct docker *dk);

/* --- docker_launch.c: they become processes -------------------------------------------------- */

/*
 * Clients that are attached or waiting get the process, or the reason why there is none. The
 * request, if any, gets its reply once the process runs. The created entry is freed
 * then.
 */
void launch_begin(struct created *c, struct http_request *rq);

/*
 * Clients before API 1.42 send the terminal's size only after the start, but at once. The program
 * should find that size, so the start waits for it for up to DOCKER_SIZE_MS.
 */
void launch_hold(struct created *c);
void launch_sized(struct created *c); /* the size has arrived; no effect if no start waits for it */

/* Removes the containers of the last worker once they have exited, as --rm requested. */
void launch_remove_all(struct docker *dk);

/* docker_wait.c: its waiting clients get the process, or the code if it never becomes one. */
void waits_bind(struct created *c, struct process *p);
void waits_end(struct created *c, int code);

static inline bool created_is_exec(const struct created *c)
{
    return strcmp(docker_text(c->config, "kind"), "exec") == 0;
}

#endif
