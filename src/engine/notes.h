/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notes.h - small named texts that outlive the worker
 *
 * For settings that a platform's clients make on the daemon as a whole, which belong in no
 * process's record. There are two areas behind the event log (worker_shared.h). A change writes all
 * notes into the inactive area and activates it by a single store, so a worker that dies in between
 * leaves the old notes intact. Layer: engine.
 */
#ifndef HF_ENGINE_NOTES_H
#define HF_ENGINE_NOTES_H

#include <stdbool.h>
#include <stddef.h>

struct engine;
struct shared;

/* The text of a note, borrowed until the next change; NULL: no such note. */
const char *engine_note(const struct engine *e, const char *name, size_t *len);
/* 0; -ENOSPC: all notes together would exceed LIMIT_NOTES_BYTES, and nothing was changed; -ENOTSUP:
 * the memory comes from an older daemon and has no notes. len 0 removes the note. */
int engine_note_set(struct engine *e, const char *name, const char *text, size_t len);

/* The same, directly on the shared memory. */
const char *notes_get(const struct shared *s, const char *name, size_t *len);
int notes_set(struct shared *s, const char *name, const char *text, size_t len);

/* Whether each note that an earlier worker left lies within its area. */
bool notes_are_sound(const struct shared *s);
void notes_clear(struct shared *s);

#endif
