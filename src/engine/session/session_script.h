/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_script.h - the protocol between the daemon and a session's shell
 *
 * The shell runs session_script, which reads a command as three lines from its standard input
 * (number, command, input), evaluates it, and reports through descriptor 3: number, status, last
 * background job and directory, terminated by a NUL. Both channels are moved to other descriptors
 * and closed for the commands.
 *
 * Input can also be typed to a command: then lines of input follow its three lines while it runs.
 * Each begins with '+' and ends with '.', so that no part of one can be mistaken for the number of
 * the next command: the shell skips what its command did not read. Pure. Layer: engine.
 */
#ifndef HF_ENGINE_SESSION_SESSION_SCRIPT_H
#define HF_ENGINE_SESSION_SESSION_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define SESSION_SCRIPT_VARIABLE "__hf_main"
#define SESSION_SCRIPT_START "eval \"$" SESSION_SCRIPT_VARIABLE "\""
/* Makes the shell abort the command that it runs; nothing else uses this signal. */
#define SESSION_CUT_SIGNAL 16
/*
 * Maximum length of a directory in a report: PATH_MAX, since no system call accepts more. $PWD may
 * be anything, and a report must fit into one peek.
 */
#define SESSION_CWD_MAX 4096

extern const char session_script[];

/* Version of the script. A shell from an older daemon runs an older one; versions from 2 on accept
 * typed input. */
#define SESSION_SCRIPT_VERSION 2

/* Encodes the three lines of a command. `input` NULL: /dev/null. */
void session_script_encode(struct buf *out, uint64_t number, const char *command, size_t len,
                           const void *input, size_t input_len);
/* The same for a command that input is typed to. `echo`: what is typed is output as well. */
void session_script_encode_typed(struct buf *out, uint64_t number, const char *command, size_t len,
                                 bool echo);
/* Encodes typed bytes, at most SESSION_TYPE_BYTES; each becomes at most SESSION_TYPE_FACTOR
 * bytes. */
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
/* Parses one report without its NUL; false: it is not one. */
bool session_report_parse(const char *text, size_t len, struct session_report *out);

#endif
