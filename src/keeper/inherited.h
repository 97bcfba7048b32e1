/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inherited.h - processes of an earlier keeper whose exit nobody can report
 *
 * When the vault that is their parent has died, nothing is left that could wait for them: the
 * machine's orphan reaper is their parent now. A pidfd still reports that they exit, but not how.
 * Layer: keeper; only its own files include it.
 */
#ifndef HF_KEEPER_INHERITED_H
#define HF_KEEPER_INHERITED_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

struct keeper;

struct inherited {
    bool begun; /* the vault has died */
    struct inherited_one *all;
    size_t count;
};

/* At the start: what was executed in the keeper's place, and failed there, may have reaped some. */
void inherited_check(struct keeper *k);
/* Once the vault has died: reports those that exited with it as lost, and watches the others. */
void inherited_step(struct keeper *k);
void inherited_poll_set(const struct keeper *k, struct pollfd *out); /* inherited.count of them */
void inherited_poll_done(struct keeper *k, const struct pollfd *polls, size_t count);
/* In a worker, and at shutdown. */
void inherited_fini(struct keeper *k);

#endif
