/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach.h - connects the user's standard streams to a process until one side ends
 *
 * Survives lost connections: output resumes at the next offset, input at the last byte that the
 * daemon accepted. Used by run, attach, watch and logs. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_ATTACH_H
#define HF_CLI_CLIENT_ATTACH_H

#include "cli/client/command.h"

#define ATTACH_RETRY_MS 60000 /* default of --retry */

struct attach_options {
    const char *id;          /* as written by request_process_path() */
    const char *since;       /* NULL: the daemon's default */
    const char *detach_keys; /* NULL: the default */
    int64_t retry_ms;
    bool pty;            /* the process has a terminal */
    bool raw;            /* set our terminal to raw mode: both sides have one, or keys detach */
    bool input;          /* forward standard input */
    bool read_only;      /* watch: leave on q or ctrl-c */
    bool owner;          /* run: forward signals; a broken pipe ends the process */
    bool ends;           /* sh: the process ends when we leave, by its on_detach */
    bool stop_at_replay; /* logs: stop at the end of the kept output */
    bool zero_exit;      /* logs, watch: the process's exit code is not ours */
    bool as_written;     /* logs: the original bytes, never a snapshot instead */
    bool no_stdout, no_stderr;
    bool quiet; /* no messages about lost connections */
};

/* Returns the exit code: that of the process, 0 after detaching, or a CLI_* code. */
int attach_run(const struct client_call *call, const struct attach_options *o);

#endif
