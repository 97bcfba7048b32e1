/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_entry.h - a container as clients see it: the sandbox, a process, or one that was not started
 *
 * Found by id, by name, or by the beginning of an id that no other has; a process also as the rest of the
 * daemon names it (proc_…, tag:…, pid:…). Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_ENTRY_H
#define HF_DIALECTS_DOCKER_DOCKER_ENTRY_H

#include "base/limits.h"
#include "dialects/docker/docker.h"
#include "dialects/docker/docker_not_started.h"

enum box_kind { BOX_NONE, BOX_SANDBOX, BOX_CREATED, BOX_PROCESS };

struct docker_entry {
    enum box_kind kind;
    struct process *process; /* BOX_PROCESS, borrowed */
    struct created *created; /* BOX_CREATED, borrowed */
    char id[DOCKER_ID_LEN + 1];
    char name[LIMIT_TAG_BYTES + 1];
    json_t *config; /* as far as it is known; NULL: not started through this dialect. Owned. */
};

void docker_entry_fini(struct docker_entry *b);
void docker_entry_of_sandbox(struct docker *dk, struct docker_entry *b);
void docker_entry_of_created(struct created *c, struct docker_entry *b);
void docker_entry_of_process(struct process *p, struct docker_entry *b);
/* Is it one to be shown? Not what the daemon does for itself. */
bool docker_entry_is_shown(struct process *p);

/* 0, or err (no_such_process; bad_value if more than one fits) and the box is none. */
int docker_entry_find(struct docker *dk, const char *ref, struct docker_entry *b,
                      struct hf_error *err);
/* The same by the {id} of the request; false: it was answered. */
bool docker_box(struct http_request *rq, struct docker_entry *b);
/* One whose id Docker's client was given; NULL: it was not started. */
struct process *docker_entry_process_by_id(struct docker *dk, const char *id);

/* "created", "running" or "exited" */
const char *docker_entry_status(const struct docker_entry *b);
bool docker_entry_is_running(const struct docker_entry *b);
int docker_entry_exit_code(const struct docker_entry *b); /* 0 while it runs, as Docker has it */
bool docker_entry_tty(const struct docker_entry *b);
bool docker_entry_is_exec(const struct docker_entry *b);
const char *docker_entry_image(const struct docker_entry *b);
int docker_exit_code(const struct exit_record *x);

#endif
