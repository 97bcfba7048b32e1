/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_script.h - what the daemon and a session's shell say to each other
 *
 * The shell runs session_script, which reads a command as three lines from its
 * standard input (number, command, input), evaluates it, and reports through
 * descriptor 3: number, status, last background job and directory, ended by a NUL.
 * Both channels are moved away and closed for the commands.
 *
 * A command may also be typed to: then lines of input follow its three while it runs. Each begins
 * with '+' and ends with '.', so that no end of one is taken for the number of the next command:
 * the shell passes over what its command did not read. Pure. Layer: engine.
 */
#ifndef HF_ENGINE_SESSION_SESSION_SCRIPT_H
#define HF_ENGINE_SESSION_SESSION_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define SESSION_SCRIPT_VARIABLE "__hf_main"
#define SESSION_SCRIPT_START "eval \"$" SESSION_SCRIPT_VARIABLE "\""
/* Makes the shell give up the command that it runs; nothing else uses this signal. */
#define SESSION_CUT_SIGNAL 16
/*
 * Bytes of a directory that a report tells: PATH_MAX, beyond which no system call takes it
 * anyway. $PWD may be anything, and a report must fit into what is looked at in one go.
 */
#define SESSION_CWD_MAX 4096

extern const char session_script[];

/* What a shell that runs another script than this one's does not understand: 2 and more take what
 * is typed. */
#define SESSION_SCRIPT_VERSION 2

/* The three lines of a command. `input` NULL: /dev/null. */
void session_script_encode(struct buf *out, uint64_t number, const char *command, size_t len,
                           const void *input, size_t input_len);
/* The same for one that is typed to. `echo`: what is typed is output as well. */
void session_script_encode_typed(struct buf *out, uint64_t number, const char *command, size_t len,
                                 bool echo);
/* Bytes for it; SESSION_TYPE_BYTES at most, of which each becomes SESSION_TYPE_FACTOR at worst. */
#define SESSION_TYPE_BYTES 4096
#define SESSION_TYPE_FACTOR 5
void session_script_encode_typing(struct buf *out, const void *bytes, size_t len);

struct session_report {
    uint64_t number;
    int status;      /* 0..255 */
    const char *job; /* pid of the last background job, or "" */
    const char *cwd; /* "" if the shell does not know; SESSION_CWD_MAX bytes at most */
    size_t job_len, cwd_len;
};
/* One report without its NUL; false: it is none. */
bool session_report_parse(const char *text, size_t len, struct session_report *out);

#endif
