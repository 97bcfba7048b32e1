/* SPDX-License-Identifier: Apache-2.0 */
/*
 * box.h - a container as clients see it: the sandbox, a process, or one that was not started
 *
 * Found by id, by name, or by the beginning of an id that no other has; a process also as the rest of the
 * daemon names it (proc_…, tag:…, pid:…). Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_BOX_H
#define HF_DIALECTS_DOCKER_BOX_H

#include "base/limits.h"
#include "dialects/docker/created.h"
#include "dialects/docker/docker.h"

enum box_kind { BOX_NONE, BOX_SANDBOX, BOX_CREATED, BOX_PROCESS };

struct box {
    enum box_kind kind;
    struct process *process; /* BOX_PROCESS, borrowed */
    struct created *created; /* BOX_CREATED, borrowed */
    char id[DOCKER_ID_LEN + 1];
    char name[LIMIT_TAG_BYTES + 1];
    json_t *config; /* as far as it is known; NULL: not started through this dialect. Owned. */
};

void box_fini(struct box *b);
void box_of_sandbox(struct docker *dk, struct box *b);
void box_of_created(struct created *c, struct box *b);
void box_of_process(struct process *p, struct box *b);
/* Is it one to be shown? Not what the daemon does for itself. */
bool box_is_shown(struct process *p);

/* 0, or err (no_such_process; bad_value if more than one fits) and the box is none. */
int box_find(struct docker *dk, const char *ref, struct box *b, struct hf_error *err);
/* The same by the {id} of the request; false: it was answered. */
bool docker_box(struct http_request *rq, struct box *b);
/* One whose id Docker's client was given; NULL: it was not started. */
struct process *box_process_by_id(struct docker *dk, const char *id);

/* "created", "running" or "exited" */
const char *box_status(const struct box *b);
bool box_is_running(const struct box *b);
int box_exit_code(const struct box *b); /* 0 while it runs, as Docker has it */
bool box_tty(const struct box *b);
bool box_is_exec(const struct box *b);
const char *box_image(const struct box *b);
int docker_exit_code(const struct exit_record *x);

#endif
