/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach.h - a process and the user's standard streams, joined until one of them ends
 *
 * Survives cuts: output goes on at the next offset, input where the daemon left
 * off. Used by run, attach, watch and logs. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_ATTACH_H
#define HF_CLI_CLIENT_ATTACH_H

#include "cli/client/command.h"

#define ATTACH_RETRY_MS 60000 /* default of --retry */

struct attach_options {
    const char *id;          /* as request_process_path() writes it */
    const char *since;       /* NULL: the daemon's default */
    const char *detach_keys; /* NULL: the default */
    int64_t retry_ms;
    bool pty;            /* the process has a terminal */
    bool raw;            /* ours is to be raw: both have one, or keys leave */
    bool input;          /* standard input is passed on */
    bool read_only;      /* watch: leave on q or ctrl-c */
    bool owner;          /* run: signals are passed on, a broken pipe ends the process */
    bool stop_at_replay; /* logs: no more than what is there */
    bool zero_exit;      /* logs, watch: the process's exit code is not ours */
    bool as_written;     /* logs: the bytes themselves, never a snapshot in their place */
    bool no_stdout, no_stderr;
    bool quiet; /* no word about lost and found connections */
};

/* The exit code: the process's own, 0 after leaving, or one of ours. */
int attach_run(const struct client_call *call, const struct attach_options *o);

#endif
