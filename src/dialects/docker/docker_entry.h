/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_entry.h - a container as clients see it: the sandbox, a process, or one that was not
 * started
 *
 * Lookup is by id, by name, or by an unambiguous prefix of an id; for a process also by the
 * daemon's own references (proc_…, tag:…, pid:…). Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_ENTRY_H
#define HF_DIALECTS_DOCKER_DOCKER_ENTRY_H

#include "base/limits.h"
#include "dialects/docker/docker.h"
#include "dialects/docker/docker_not_started.h"

enum docker_entry_kind {
    DOCKER_ENTRY_NONE,
    DOCKER_ENTRY_SANDBOX,
    DOCKER_ENTRY_CREATED,
    DOCKER_ENTRY_PROCESS
};

struct docker_entry {
    enum docker_entry_kind kind;
    struct process *process; /* DOCKER_ENTRY_PROCESS, borrowed */
    struct process_view v;   /* of the process; else zero */
    struct created *created; /* DOCKER_ENTRY_CREATED, borrowed */
    char id[DOCKER_ID_LEN + 1];
    char name[LIMIT_TAG_BYTES + 1];
    json_t *config; /* as far as known; NULL: not started through this dialect. Owned. */
};

void docker_entry_fini(struct docker_entry *b);
/* Freed when the handler returns. */
#define docker_entry_auto __attribute__((cleanup(docker_entry_fini))) struct docker_entry
void docker_entry_of_process(struct process *p, struct docker_entry *b);
/* The same from an event: there may be no such process any more. `process` of it stays NULL. */
void docker_entry_of_event(struct docker *dk, const json_t *process, struct docker_entry *b);
/* Is this process listed? The daemon's own helpers are not. */
bool docker_entry_is_shown(struct process *p);

/* Calls fn with each entry, newest first and the sandbox last, until it returns true. fn takes
 * ownership of the entry. */
typedef bool docker_entry_fn(void *arg, struct docker_entry *b);
bool docker_entry_each(struct docker *dk, docker_entry_fn *fn, void *arg);

/* 0, or err (no_such_process; bad_value if several match) and the entry is DOCKER_ENTRY_NONE. */
int docker_entry_find(struct docker *dk, const char *ref, struct docker_entry *b,
                      struct hf_error *err);
/* The same by the {id} of the request. False: the request has been replied to. */
bool docker_entry_of_request(struct http_request *rq, struct docker_entry *b);
/* The process whose id Docker's client received; NULL: it was not started. */
struct process *docker_entry_process_by_id(struct docker *dk, const char *id);

/* "created", "running" or "exited" */
const char *docker_entry_status(const struct docker_entry *b);
bool docker_entry_is_running(const struct docker_entry *b);
int docker_entry_exit_code(const struct docker_entry *b); /* 0 while it runs, as in Docker */
bool docker_entry_tty(const struct docker_entry *b);
const char *docker_entry_image(const struct docker_entry *b);
/* docker_container.c: ?h= and ?w= of a container or an exec. */
void docker_entry_resize(struct http_request *rq, struct docker_entry *b);
int docker_exit_code(const struct exit_record *x);

#endif
