/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_script.c - the protocol between the daemon and a session's shell. Layer: engine.
 */
#include "engine/session/session_script.h"

#include <stdio.h>
#include <string.h>

/*
 * Names begin with __hf_. Builtins that a user may have replaced by functions are called by
 * `command`. The script's own output goes to /dev/null, so `set -x` shows only the command's steps.
 * The redirections of `eval` are undone after it. While it runs, the shell keeps the originals
 * close-on-exec: no command inherits the channels, and `exec >file` in a command does not silence
 * later ones.
 *
 * To abort a command, bash gets SESSION_CUT_SIGNAL. Its trap returns from the function or sourced
 * text that runs, and installs a DEBUG trap that returns before every further command, so that
 * nothing after the interrupted command runs: `make; rm -r out` must not continue with the second
 * half. That is why the loop is sourced. A function would not do: `declare` in it would be local.
 * Other shells have no such mechanism, so they exit and are replaced.
 *
 * Input comes from a file that is already unlinked when the command begins: a pipe would need a
 * process to write it, and a here-document cannot contain NUL bytes.
 *
 * Input typed while a command runs arrives on the shell's own input, where the next command will
 * arrive. A relay copies it from there to the command, through an unlinked FIFO. It is started by a
 * command substitution, or $! would be the relay. Nothing may be reading from the shell's input
 * when the next command is sent, so the relay must be gone before the end is reported. It is no
 * child that the shell could wait for, so the shell kills it until the kill fails. By then, the
 * relay may have consumed half a line.
 */
/* clang-format off */
#define TEXT_OF(X) #X
#define AT_MOST(BYTES) "%." TEXT_OF(BYTES) "s" /* printf counts bytes in any locale */
#define REPORT(OUT) \
    "__hf_report() { command printf \"%s %s %s " AT_MOST(SESSION_CWD_MAX) "\\0\" " \
    "\"$__hf_n\" \"$__hf_rc\" \"${!-}\" \"${PWD-}\" >&" OUT "; }\n"
#define READ_COMMAND(IN) \
    "IFS= command read -r __hf_n <&" IN " || case $? in 1) exit 0;; *) continue;; esac\n" \
    "case $__hf_n in \"\"|*[!0-9]*) continue;; esac\n" \
    "IFS= command read -r __hf_c <&" IN "\n" \
    "IFS= command read -r __hf_i <&" IN "\n" \
    "case $__hf_c in *\\\\*) __hf_decode;; esac\n"
/*
 * $1 ends with e: what is typed is output as well. CLOSE: descriptors that the relay does not need.
 * It redirects its own input and output: a shell that does so for a function keeps the previous
 * descriptors, and one of them is the pipe whose end of file the command substitution waits for.
 */
#define RELAY(IN, FD, OUT, CLOSE) \
    "__hf_relay() {\n" \
    "exec <&" IN " >&" FD " " CLOSE "; case $1 in *e) ;; *) exec " OUT ">&-;; esac\n" \
    "while IFS= command read -r __hf_i; do\n" \
    "__hf_i=${__hf_i#+}; __hf_i=${__hf_i%.}\n" \
    "case $1 in *e) command printf %b \"$__hf_i\" >&" OUT ";; esac\n" \
    "command printf %b \"$__hf_i\"\n" \
    "done; }\n" \
    "__hf_unrelay() {\n" \
    "while case $__hf_p in \"\") false;; *) command kill -9 \"$__hf_p\";; esac; do :; done\n" \
    "__hf_p=; }\n"
#define NO_PLACE(ERR) \
    "else command -p rm -f \"$__hf_f\"\n" \
    "command printf \"holdfast: cannot store the input in %s\\n\" \"${TMPDIR:-/tmp}\" >&" ERR "\n" \
    "__hf_rc=1; __hf_report; continue; fi;;\n"
/* Opens the input as descriptor FD, or continues with the next command. */
#define OPEN_INPUT(FD, ERR) \
    "__hf_f=${TMPDIR:-/tmp}/.holdfast-$$-$__hf_n\n" \
    "case $__hf_i in\n" \
    "-) exec " FD "</dev/null;;\n" \
    "=*) if ( umask 077; command -p mkfifo \"$__hf_f\" ); then\n" \
    "exec " FD "<>\"$__hf_f\"; command -p rm -f \"$__hf_f\"\n" \
    "__hf_p=$(__hf_relay \"$__hf_i\" & command printf %s \"$!\")\n" \
    NO_PLACE(ERR) \
    "*) if ( umask 077; set -C; command printf %b \"${__hf_i#+}\" >\"$__hf_f\" ); then\n" \
    "exec " FD "<\"$__hf_f\"; command -p rm -f \"$__hf_f\"\n" \
    NO_PLACE(ERR) \
    "esac\n" \
    "__hf_i=\n"
/* Restores $? of the previous command, but `set -e` must not treat that as a failure. */
#define STATUS_BEFORE \
    "__hf_busy=1\n" \
    "case $- in *e*) ;; *) __hf_status \"$__hf_rc\";; esac\n"
#define STATUS_BEHIND \
    "__hf_rc=$?\n" \
    "__hf_busy=\n" \
    "__hf_unrelay\n" \
    "__hf_report\n"
#define EXIT_WHEN_CUT "trap 'case $__hf_busy in 1) exit 143;; esac' 16\n"

/* The following must not contain a single quote: it is itself single-quoted. */
#define BASH_LOOP \
    "while :; do\n" \
    READ_COMMAND("249") \
    OPEN_INPUT("245", "247") \
    STATUS_BEFORE \
    "command eval \"$__hf_c\" <&245 >&246 2>&247 244<&- 245<&- 246>&- 247>&- 248>&- 249<&-\n" \
    STATUS_BEHIND \
    "done\n"

#define BASH_PART \
    "shopt -s expand_aliases\n" \
    "exec 249<&0 248>&3 247>&2 246>&1 </dev/null 3>&- >/dev/null 2>&1\n" \
    REPORT("248") \
    RELAY("249", "245", "246", "244<&- 245<&- 247>&- 248>&- 249<&-") \
    "__hf_decode() { printf -v __hf_c %b \"$__hf_c\"; }\n" \
    "__hf_debug() { [ \"$1\" = 0 ] || return 2; }\n" \
    "__hf_loop='" BASH_LOOP "'\n" \
    "if [ -r /dev/fd/0 ]; then\n" \
    "trap 'case $__hf_busy in 1) __hf_busy=2; shopt -s extdebug;" \
    " trap \"__hf_debug \\${#BASH_SOURCE[@]}\" DEBUG; return 143;; esac' 16\n" \
    "while :; do\n" \
    "eval '. /dev/fd/244 244<<<\"$__hf_loop\"'\n" \
    "__hf_rc=$?\n" \
    "case $__hf_busy in 2) trap - DEBUG; shopt -u extdebug; __hf_rc=143;; esac\n" \
    "__hf_busy=\n" \
    "__hf_unrelay\n" \
    "__hf_report\n" \
    "done\n" \
    "fi\n" \
    EXIT_WHEN_CUT \
    "eval \"$__hf_loop\"\n"

#define PLAIN_PART \
    "exec 9<&0 8>&3 7>&2 6>&1 </dev/null 3>&- >/dev/null 2>&1\n" \
    REPORT("8") \
    RELAY("9", "5", "6", "5<&- 7>&- 8>&- 9<&-") \
    "__hf_decode() { __hf_c=$(command printf \"%b.\" \"$__hf_c\"); __hf_c=${__hf_c%.}; }\n" \
    EXIT_WHEN_CUT \
    "while :; do\n" \
    READ_COMMAND("9") \
    OPEN_INPUT("5", "7") \
    STATUS_BEFORE \
    "command eval \"$__hf_c\" <&5 >&6 2>&7 5<&- 6>&- 7>&- 8>&- 9<&-\n" \
    STATUS_BEHIND \
    "done\n"

const char session_script[] =
    "unset " SESSION_SCRIPT_VARIABLE "\n"
    "__hf_rc=0 __hf_busy= __hf_p=\n"
    "__hf_status() { return \"$1\"; }\n"
    "if [ -n \"${BASH_VERSION-}\" ]; then\n"
    BASH_PART
    "else\n"
    PLAIN_PART
    "fi\n";
/* clang-format on */

static void encode_command(struct buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n')
            buf_put(out, "\\n", 2);
        else if (text[i] == '\\')
            buf_put(out, "\\\\", 2);
        else
            buf_putc(out, text[i]);
    }
}

/* Escapes everything that a shell, a locale or printf could interpret. */
static void encode_input(struct buf *out, const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] >= ' ' && bytes[i] < 0x7f && bytes[i] != '\\')
            buf_putc(out, (char)bytes[i]);
        else
            buf_printf(out, "\\0%03o", bytes[i]);
    }
}

void session_script_encode(struct buf *out, uint64_t number, const char *command, size_t len,
                           const void *input, size_t input_len)
{
    buf_printf(out, "%llu\n", (unsigned long long)number);
    encode_command(out, command, len);
    buf_putc(out, '\n');
    buf_putc(out, input != NULL ? '+' : '-');
    if (input != NULL)
        encode_input(out, input, input_len);
    buf_putc(out, '\n');
}

void session_script_encode_typed(struct buf *out, uint64_t number, const char *command, size_t len,
                                 bool echo)
{
    buf_printf(out, "%llu\n", (unsigned long long)number);
    encode_command(out, command, len);
    buf_puts(out, echo ? "\n=e\n" : "\n=\n");
}

void session_script_encode_typing(struct buf *out, const void *bytes, size_t len)
{
    buf_putc(out, '+');
    encode_input(out, bytes, len);
    buf_puts(out, ".\n");
}

/* Parses digits and the space after them; returns the rest, or NULL. */
static const char *parse_number(const char *at, const char *end, uint64_t max, uint64_t *out)
{
    const char *start = at;

    *out = 0;
    while (at < end && *at >= '0' && *at <= '9' && at - start < 19)
        *out = *out * 10 + (uint64_t)(*at++ - '0');
    return at > start && at < end && *at == ' ' && *out <= max ? at + 1 : NULL;
}

bool session_report_parse(const char *text, size_t len, struct session_report *out)
{
    const char *end = text + len, *at, *space;
    uint64_t status;

    *out = (struct session_report){0};
    at = parse_number(text, end, INT64_MAX, &out->number);
    if (at != NULL)
        at = parse_number(at, end, 255, &status);
    if (at == NULL)
        return false;
    space = memchr(at, ' ', (size_t)(end - at));
    if (space == NULL)
        return false;
    out->status = (int)status;
    out->job = at;
    out->job_len = (size_t)(space - at);
    out->cwd = space + 1;
    out->cwd_len = (size_t)(end - out->cwd);
    if (out->cwd_len > SESSION_CWD_MAX)
        out->cwd_len = SESSION_CWD_MAX;
    return true;
}
