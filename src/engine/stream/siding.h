/* SPDX-License-Identifier: Apache-2.0 */
/*
 * siding.h - a second pipe, so that copying a flood does not stall its writer
 *
 * Reading a pipe holds its lock, so the writer stalls while we copy. In a flood the pages are
 * therefore first spliced into a pipe of our own, which is quick, and then copied from there into
 * the journal while the writer continues. The siding is empty again before anything else happens.
 * But a worker may die in between, so the keeper keeps the siding for the next worker, and shared
 * memory records which process its bytes belong to. How far the copy had got is known as usual
 * (worker_shared.h): the kernel does not count spliced bytes. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_SIDING_H
#define HF_ENGINE_STREAM_SIDING_H

#include <stddef.h>
#include <sys/types.h>

#include "engine/journal/record.h"

#define SIDING_BYTES (512 * 1024)    /* spliced at once */
#define SIDING_MIN_BYTES (64 * 1024) /* not worth it for less */

struct engine;
struct keeper_boot;
struct process;

/* Adopts the siding that the keeper passed on, if any, and moves any bytes left in it to their
 * journal. */
void siding_recover(struct engine *e, const struct keeper_boot *boot);

/* As journal_read(), from a flooding pipe. Where splicing fails, bytes are read instead, from
 * then on for all processes of this worker: only read(2) can report the end of a pipe. */
ssize_t siding_read(struct process *p, int fd, enum stream stream, size_t max);

#endif
