/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_prelude.c - the shell code that carries a session's state to its next shell. Layer: dialects.
 */
#include "dialects/opensandbox/osb_prelude.h"

#include <string.h>

#define MARK "__osb_state="

/* The file exists from the end of one shell to the start of the next, a few milliseconds later. Its
 * name is as hard to guess as the session's id. */
static const char setup[] =
    MARK "${TMPDIR:-/tmp}/.$HOLDFAST_SESSION_ID\n"
         "if [ -O \"$__osb_state\" ]; then\n"
         ". \"$__osb_state\"\n"
         "command cd -- \"$__osb_pwd\"\n"
         "unset __osb_pwd\n"
         "command -p rm -f -- \"$__osb_state\"\n"
         "fi 2>/dev/null\n"
         "trap '__osb_rc=$?; ( umask 077; set -C; export __osb_pwd=\"$PWD\"; "
         "export -p >\"$__osb_state\" ) 2>/dev/null; exit \"$__osb_rc\"' EXIT\n";

static bool is_setup(const struct session_command *c)
{
    return c->begin.source == SOURCE_SYSTEM && c->text.len >= sizeof MARK - 1 &&
           memcmp(c->text.bytes, MARK, sizeof MARK - 1) == 0;
}

/* A session without a prelude was created by another dialect, and remains unchanged. */
bool osb_prelude_is_due(const struct session_log *log)
{
    bool ours = false, set_up = false;
    struct session_command c;
    uint64_t at = 0;

    while (session_log_each(log, &at, &c)) {
        if (is_setup(&c)) {
            ours = true;
            set_up = c.ended;
        } else if (c.ended && c.end.shell_replaced) {
            set_up = false;
        }
    }
    return ours && !set_up;
}

void osb_prelude_write(struct buf *out, bool due, enum prelude_cd what, const char *cwd)
{
    if (due)
        buf_puts(out, setup);
    if (what == PRELUDE_STAY)
        return;
    if (what == PRELUDE_MAKE) {
        buf_puts(out, "command -p mkdir -p -- ");
        buf_put_quoted(out, cwd);
        buf_puts(out, " && ");
    }
    buf_puts(out, "command cd -- ");
    buf_put_quoted(out, cwd);
}

void osb_prelude_ahead(const struct session_log *log, struct buf *out)
{
    if (osb_prelude_is_due(log))
        buf_puts(out, setup);
}

void osb_prelude_wrap(struct buf *out, const char *command)
{
    buf_puts(out, "command eval ");
    buf_put_quoted(out, command);
    buf_puts(out, " 2>&1");
}
