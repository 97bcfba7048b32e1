/* SPDX-License-Identifier: Apache-2.0 */
/*
 * siding.h - a second pipe, in which a flood is copied without holding up its writer
 *
 * Who reads a pipe keeps its writer out for as long as the copying takes. In a flood
 * the pages are therefore moved into a pipe of our own first, which takes a moment, and copied
 * out of that into the journal while the writer goes on. It is empty again before anything
 * else happens; but a worker may die in between, so the keeper holds the siding for
 * the next one, and shared memory says whose bytes are in it. How far the copying had come
 * is known as ever (worker_shared.h): the kernel does not count bytes that are only moved. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_SIDING_H
#define HF_ENGINE_STREAM_SIDING_H

#include <stddef.h>
#include <sys/types.h>

#include "engine/journal/record.h"

#define SIDING_BYTES (512 * 1024)    /* moved at once */
#define SIDING_MIN_BYTES (64 * 1024) /* for less it does not pay */

struct engine;
struct keeper_boot;
struct process;

/* Takes what the keeper holds, if it does, and what is left in it to where it belongs. */
void siding_recover(struct engine *e, const struct keeper_boot *boot);

/*
 * As journal_read(), from a pipe that floods. Where bytes cannot be moved they are read, from then
 * on all that this worker gets: only reading itself may say that a pipe has come to its end.
 */
ssize_t siding_read(struct process *p, int fd, enum stream stream, size_t max);

#endif
