/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell_exec.c - passes odd bytes and the umask to a shell in the daemon. Layer: cli.
 */
#include "cli/client/shell_exec.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/builtin_commands.h"
#include "cli/client/command.h"
#include "cli/optparse.h"
#include "transport/url_query.h"

#define USUAL_MASK 022 /* of a daemon, and so of its processes */
#define PLAIN "-._~:/=,+@ "
#define LEAST_WORDS 6 /* holdfast sh-exec MASK DIR 0 SHELL */

/* --- in the caller ---------------------------------------------------------------------- */

static bool is_text(const char *s)
{
    return utf8_is_valid(s, strlen(s));
}

/* getenv() returns the first of several with a name, and so do we. */
static bool is_repeated(size_t i)
{
    size_t len = strcspn(environ[i], "=");

    for (size_t k = 0; k < i; k++)
        if (strncmp(environ[k], environ[i], len + 1) == 0)
            return true;
    return false;
}

/* A variable without a name, or without '=', exists for no shell. */
static bool is_variable(size_t i)
{
    const char *eq = strchr(environ[i], '=');

    return eq != NULL && eq != environ[i] && !is_repeated(i);
}

static size_t count_odd_variables(void)
{
    size_t count = 0;

    for (size_t i = 0; environ[i] != NULL; i++)
        count += is_variable(i) && !is_text(environ[i]);
    return count;
}

bool shell_exec_is_needed(const struct shell_exec *s, bool with_mask)
{
    if ((with_mask && s->mask != USUAL_MASK) || !is_text(s->cwd) || !is_text(s->shell))
        return true;
    for (char *const *arg = s->args; *arg != NULL; arg++)
        if (!is_text(*arg))
            return true;
    return count_odd_variables() > 0;
}

static void put_coded(struct json_out *o, const char *word)
{
    hf_autobuf struct buf coded = {0};

    text_percent_encode(&coded, word, PLAIN);
    json_str(o, buf_cstr(&coded));
}

static void put_prelude(const struct shell_exec *s, struct json_out *o)
{
    char text[32];

    json_str(o, "sh-exec");
    snprintf(text, sizeof text, "%u", (unsigned)s->mask);
    json_str(o, text);
    put_coded(o, s->cwd);
    snprintf(text, sizeof text, "%zu", count_odd_variables());
    json_str(o, text);
    for (size_t i = 0; environ[i] != NULL; i++)
        if (is_variable(i) && !is_text(environ[i]))
            put_coded(o, environ[i]);
    put_coded(o, s->shell);
}

void shell_exec_put(const struct shell_exec *s, const char *self, struct json_out *o)
{
    json_kstr(o, "command", self != NULL ? self : s->shell);
    json_key(o, "args");
    json_open(o, '[');
    if (self != NULL)
        put_prelude(s, o);
    for (char *const *arg = s->args; *arg != NULL; arg++) {
        if (self != NULL)
            put_coded(o, *arg);
        else
            json_str(o, *arg);
    }
    json_close(o, ']');
    json_kstr(o, "cwd", self != NULL ? "/" : s->cwd);
}

size_t shell_exec_put_env(struct json_out *o)
{
    size_t count = 0;

    json_key(o, "env");
    json_open(o, '{');
    for (size_t i = 0; environ[i] != NULL; i++) {
        if (is_variable(i) && is_text(environ[i])) {
            char *eq = strchr(environ[i], '=');

            *eq = '\0';
            json_kstr(o, environ[i], eq + 1);
            *eq = '=';
            count++;
        }
    }
    json_close(o, '}');
    return count;
}

/* --- in the daemon ------------------------------------------------------------------------ */

static int fail(const char *what, int code)
{
    return cli_complain("sh", code, "%s: %s", what, strerror(errno));
}

static bool decode_all(int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        if (url_percent_decode(argv[i], strlen(argv[i]), false, argv[i]) < 0)
            return false;
    return true;
}

int shell_exec_main(int argc, char **argv)
{
    uint64_t mask, count;
    char **shell;

    if (argc < LEAST_WORDS || !decode_all(argc, argv) || !text_to_u64(argv[2], 0777, &mask) ||
        !text_to_u64(argv[4], (uint64_t)(argc - LEAST_WORDS), &count))
        return cli_complain("sh", CLI_USAGE, "sh-exec is only for holdfast sh");
    umask((mode_t)mask);
    if (chdir(argv[3]) < 0)
        return fail(argv[3], CLI_CANNOT_RUN);
    for (uint64_t i = 0; i < count; i++)
        putenv(argv[5 + i]);
    shell = argv + 5 + count;
    execv(shell[0], shell);
    return fail(shell[0], errno == ENOENT ? CLI_NOT_FOUND : CLI_CANNOT_RUN);
}
