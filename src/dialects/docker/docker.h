/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker.h - Docker's Engine API: the sandbox is a container, and so is each of its processes
 *
 * Facts: docs/dialects/docker.md. `docker exec` starts a process in the container "sandbox";
 * `docker run` starts one that is a separate container. The same calls list, attach to, signal and
 * wait for both, and for processes started elsewhere. If Docker's client got a container's id
 * before the process existed, the id is stored with the process (as its idempotency key); else it
 * is derived from the process's own. A container's name is the process's tag. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_H
#define HF_DIALECTS_DOCKER_DOCKER_H

#include "base/buf.h"
#include "base/json.h"
#include "dialects/common/call.h"
#include "dialects/common/dialect_base.h"
#include "dialects/docker/docker_decode.h"

extern const struct dialect docker_dialect;

#define DOCKER_API_MINOR 51 /* minor of version 1; a client uses the smaller of both */
#define DOCKER_ID_LEN 64
#define DOCKER_SANDBOX "sandbox"

struct docker {
    struct dialect_base base;
    struct list created;      /* newest first; docker_not_started.h */
    size_t containers, execs; /* their count */
    size_t created_bytes;
    json_t *env; /* of running containers by their process's id; docker_env.h */
    size_t waits;
    size_t stats;  /* in progress; docker_stats.c */
    size_t events; /* the same; docker_events.c */
    char hostname[256];
    char sandbox_id[DOCKER_ID_LEN + 1];
    int64_t began_ms;
};

static inline struct docker *docker_of(const struct http_request *rq)
{
    return http_context(rq);
}

/* docker_reply.c */
void docker_headers(struct http_request *rq); /* headers of every response */
void docker_send(struct http_request *rq, int status, struct json_out *o);
void docker_empty(struct http_request *rq, int status);
void docker_error(struct http_request *rq, const struct hf_error *err); /* any error of ours */
void docker_fail(struct http_request *rq, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Docker's wording for a process that could not be started, and the exit code that goes with it. */
int docker_spawn_error(const struct hf_error *err, const json_t *config, char *text, size_t size);

/* docker_reply.c: decoding. */
int docker_minor(const struct http_request *rq);
json_t *docker_body(struct http_request *rq); /* an object; NULL: replied */
bool docker_query(const struct http_request *rq, const char *name);
/* -1 to max; *out is unchanged when it is absent. False: replied. */
bool docker_query_number(struct http_request *rq, const char *name, const char *what, int64_t max,
                         int64_t *out);

/* Handlers: docker_system.c */
void docker_ping(struct http_request *rq);
void docker_get_version(struct http_request *rq);
void docker_info(struct http_request *rq);
/* docker_list.c, docker_inspect.c, docker_top.c, docker_logs.c, docker_stats.c */
void docker_list(struct http_request *rq);
void docker_inspect(struct http_request *rq);
void docker_top(struct http_request *rq);
void docker_logs(struct http_request *rq);
void docker_stats(struct http_request *rq);
/* docker_events.c, docker_image.c, docker_restart.c */
void docker_get_events(struct http_request *rq);
void docker_list_images(struct http_request *rq);
void docker_get_image(struct http_request *rq);
void docker_pull(struct http_request *rq);
void docker_restart(struct http_request *rq);
/* docker_container.c */
void docker_create(struct http_request *rq);
/* Keeps a new container or exec until it is started, and replies with its id. Takes ownership of
 * the config; NULL: replies err. */
void docker_make(struct http_request *rq, json_t *config, struct hf_error *err);
void docker_start(struct http_request *rq);
void docker_remove(struct http_request *rq);
void docker_resize(struct http_request *rq);
void docker_unserved(struct http_request *rq);
/* docker_archive.c */
void docker_archive_get(struct http_request *rq);
void docker_archive_put(struct http_request *rq);
/* docker_exec.c */
void docker_exec_create(struct http_request *rq);
void docker_exec_start(struct http_request *rq);
void docker_exec_resize(struct http_request *rq);
void docker_exec_inspect(struct http_request *rq);
/* docker_attach.c */
void docker_attach(struct http_request *rq);
void docker_attach_ws(struct http_request *rq);
/* docker_wait.c, docker_kill.c */
void docker_wait(struct http_request *rq);
void docker_kill(struct http_request *rq);
void docker_stop(struct http_request *rq);
/* ?t=, in milliseconds; false: replied. */
bool docker_stop_grace(struct http_request *rq, int64_t *ms);

#endif
