/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec.h - what to start, as the dialects request it
 *
 * It only borrows strings: the spec lives as long as the call. spec_init() sets the defaults.
 * engine_spawn() checks the values, so all dialects have the same limits and the same errors.
 * Layer: engine.
 */
#ifndef HF_ENGINE_SPAWN_SPEC_H
#define HF_ENGINE_SPAWN_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum stdin_mode { STDIN_DEFAULT, STDIN_NULL, STDIN_PIPE, STDIN_TTY };
enum process_source { SOURCE_USER, SOURCE_AGENT, SOURCE_USER_SHELL, SOURCE_SYSTEM };
enum detach_mode { DETACH_KEEP, DETACH_KILL, DETACH_KILL_AFTER };
enum delivery { DELIVERY_LIVE, DELIVERY_LOSSLESS };
enum size_policy { SIZE_LATEST, SIZE_SMALLEST, SIZE_FIXED, SIZE_OWNER };

struct spec_env {
    const char *name;
    const char *value; /* NULL: remove the variable */
};

struct spawn_spec {
    const char *command;
    const char *const *args; /* without argv[0] */
    size_t arg_count;
    const char *argv0;      /* NULL: the command */
    bool shell;             /* command is a shell command line */
    bool shell_integration; /* make bash or zsh mark its prompts; see shell_integration.h */
    const char *cwd;        /* NULL: the daemon's */
    const struct spec_env *env;
    size_t env_count;
    bool clear_env;
    const char *user; /* name, "uid" or "uid:gid"; NULL: the daemon's */
    bool pty;
    int64_t rows, cols; /* 0: 24 x 80 */
    enum stdin_mode stdin_mode;
    const void *input; /* written first; without STDIN_PIPE, end of file follows (pipes) */
    size_t input_len;
    const char *tag, *label, *session_id, *title;
    const char *metadata_json; /* an object, or NULL */
    enum process_source source;
    bool helper; /* internal to the daemon, carries the owner's data: hidden from everyone else */
    int64_t timeout_ms, idle_timeout_ms; /* 0: none */
    int64_t grace_ms;                    /* -1: default */
    bool quiet_start;      /* report the start only after it has exited or some time has passed */
    int64_t retain_ms;     /* -1: default */
    int64_t history_bytes; /* its ring size; 0: default; a large ring may be in a file */
    enum detach_mode on_detach;
    int64_t detach_ms; /* for DETACH_KILL_AFTER */
    enum delivery delivery;
    int64_t hold_ms; /* how long output waits for a viewer to attach, or to come back */
    enum size_policy size_policy;
    /* limits; -1: none */
    int64_t cpu_s, memory_bytes, processes, open_files, file_bytes;
    bool set_nice, set_oom;
    int64_t nice, oom_score_adj;
    const char *idempotency_key; /* NULL: none */
    const char *request_hash;    /* hex hash of the request that came with the key */
    /* Set for a session's shell (session.c): the session's definition, as JSON; NULL for all
     * others. Such a shell has a socket as descriptor 3 and the session's log in its record, and
     * accepts no input but commands. */
    const char *session_json;
};

void spec_init(struct spawn_spec *s);

/* Names as in docs/PROTOCOL.md; -1 when unknown. The reverse never fails. */
int source_from_name(const char *name);
const char *source_name(enum process_source s);
int size_policy_from_name(const char *name);
const char *size_policy_name(enum size_policy p);

#endif
