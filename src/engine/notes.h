/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notes.h - small texts by name that outlive the worker
 *
 * For what a platform's clients set on the daemon as a whole and no process's record could
 * hold. There are two areas behind the event log (worker_shared.h). A change writes all notes into
 * the one that does not count and makes it count by one store, so a worker that dies
 * in between leaves the old ones. Layer: engine.
 */
#ifndef HF_ENGINE_NOTES_H
#define HF_ENGINE_NOTES_H

#include <stdbool.h>
#include <stddef.h>

struct engine;
struct shared;

/* The text of a note, borrowed until the next change; NULL: there is none. */
const char *engine_note(const struct engine *e, const char *name, size_t *len);
/* 0, or -ENOSPC: all notes together are larger than LIMIT_NOTES_BYTES, and nothing was changed;
 * -ENOTSUP: this memory is of an older daemon and has no notes. len 0 removes it. */
int engine_note_set(struct engine *e, const char *name, const char *text, size_t len);

/* The same on the memory itself. */
const char *notes_get(const struct shared *s, const char *name, size_t *len);
int notes_set(struct shared *s, const char *name, const char *text, size_t len);

/* What an earlier worker left, if there are notes at all: does each lie within its area? */
bool notes_are_sound(const struct shared *s);
void notes_clear(struct shared *s);

#endif
