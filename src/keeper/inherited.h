/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inherited.h - processes of an earlier keeper, when the vault that is their parent has died
 *
 * Nobody who could ask the kernel how they end is left: they are the children of whoever reaps the
 * machine's orphans. That they end is still seen, by a pidfd. Layer: keeper; only its own files
 * include it.
 */
#ifndef HF_KEEPER_INHERITED_H
#define HF_KEEPER_INHERITED_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

struct keeper;

struct inherited {
    bool begun; /* there is no vault any more */
    struct inherited_one *all;
    size_t count;
};

/* Once there is no vault: those that have ended with it are lost at once, the others are watched. */
void inherited_step(struct keeper *k);
void inherited_poll_set(const struct keeper *k, struct pollfd *out); /* inherited.count of them */
void inherited_poll_done(struct keeper *k, const struct pollfd *polls, size_t count);
/* In a worker, and at the end. */
void inherited_fini(struct keeper *k);

#endif
