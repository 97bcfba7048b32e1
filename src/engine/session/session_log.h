/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_log.h - the commands of a session, kept for the next worker
 *
 * A ring in the record of the session's shell. Each command has an entry for its start and one for
 * its end, in that order, because a session runs one command at a time. A start entry without an
 * end entry is the running command. When there is no room, or there are too many, the oldest are
 * dropped. Numbers increase by one from 1, so readers can see how many were dropped. A single store
 * makes an entry valid, so a kill leaves the old state or the new. Layer: engine.
 */
#ifndef HF_ENGINE_SESSION_SESSION_LOG_H
#define HF_ENGINE_SESSION_SESSION_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/process.h"
#include "engine/spawn/spec.h"

struct session_log; /* the memory itself */

struct session_begin {
    uint64_t number;
    char process_id[32]; /* the shell's */
    int64_t started_wall_ms;
    uint64_t timeout_at_ms; /* monotonic; 0: none */
    int64_t grace_ms;
    uint64_t from;        /* start of its output in the shell's journal */
    uint64_t input_at;    /* its offset in the shell's input */
    uint64_t since_ticks; /* what the shell started since then belongs to this command */
    enum process_source source;
    uint32_t flags;    /* SESSION_… */
    uint64_t text_len; /* of the whole command; the log may hold less */
};

#define SESSION_TYPED 1u /* its input stays open: session_type() */

struct session_end {
    uint64_t number;
    int64_t ended_wall_ms;
    struct exit_record exit;
    uint64_t to;      /* end of its output */
    uint64_t omitted; /* bytes between head and tail */
    bool shell_replaced;
};

/* A borrowed run of bytes. */
struct session_text {
    const char *bytes;
    size_t len;
};

struct session_command {
    struct session_begin begin;
    bool ended; /* end, head, tail and cwd are valid */
    struct session_end end;
    struct session_text text, head, tail, cwd; /* borrowed from the log */
    struct session_text name;                  /* as set by the caller; len 0: none */
};

void session_log_init(struct session_log *l, size_t bytes);
bool session_log_is_valid(const struct session_log *l, size_t bytes);
uint64_t session_log_next_number(const struct session_log *l);
uint64_t session_log_dropped(const struct session_log *l); /* number of dropped commands */

/* The number must be session_log_next_number(). Keeps SESSION_LOG_COMMAND_BYTES of the text. The
 * name may be NULL. */
void session_log_begin(struct session_log *l, const struct session_begin *b, const char *text,
                       const char *name);
void session_log_end(struct session_log *l, const struct session_end *e, struct session_text head,
                     struct session_text tail, struct session_text cwd);

/* Oldest first: start with *at = 0. False: no more. */
bool session_log_each(const struct session_log *l, uint64_t *at, struct session_command *out);
/* Finds a command by name; the latest if there are several. */
bool session_log_find(const struct session_log *l, const char *name, struct session_command *out);
/* The latest command; false: there is none. */
bool session_log_last(const struct session_log *l, struct session_command *out);

#endif
