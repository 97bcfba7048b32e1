/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_sh.c - `holdfast sh`: a shell for agents, whose commands become processes of the daemon
 *
 * The caller cannot tell the difference: streams, exit code, signals, environment and directory are
 * those of the real shell. Whatever is certain not to have run in the daemon, because the daemon is
 * away or the request cannot carry it, runs without it. Layer: cli.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "cli/client/attach.h"
#include "cli/client/create_call.h"
#include "cli/client/shell_exec.h"
#include "cli/client/shell_plan.h"
#include "cli/client/user_terminal.h"

#define SH_UNAVAILABLE 69 /* EX_UNAVAILABLE */
#define SH_RETRY_MS 10000 /* a new worker serves well within this time */
#define SH_OTHER_ARGS 64  /* for sh-exec */
#define SH_ALONE_MS 2000  /* the process ends this long after its caller went away */

struct sh_run {
    struct shell_exec exec;
    char self[PATH_MAX], cwd[PATH_MAX];
    bool input, pty;
};

/* --- without the daemon --------------------------------------------------------------------- */

static bool is_strict(void)
{
    const char *strict = getenv("HOLDFAST_SH_STRICT");

    return strict != NULL && strict[0] != '\0' && strcmp(strict, "0") != 0;
}

/* Executes the shell in our place, unless that is not wanted. */
static int run_directly(const struct client_call *call, const struct sh_run *r, const char *why)
{
    hf_autofree char **argv = NULL;
    size_t count = 0;

    if (is_strict())
        return command_complain(call, SH_UNAVAILABLE, "%s", why);
    command_complain(call, 0, "%s; running %s without the daemon", why, r->exec.shell);
    while (r->exec.args[count] != NULL)
        count++;
    argv = hf_xalloc((count + 2) * sizeof *argv);
    argv[0] = r->exec.shell;
    memcpy(argv + 1, r->exec.args, count * sizeof *argv);
    if (call->on_sigpipe != SIG_IGN)
        signal(SIGPIPE, SIG_DFL);
    execv(argv[0], argv);
    return command_complain(call, errno == ENOENT ? CLI_NOT_FOUND : CLI_CANNOT_RUN, "%s: %s",
                            argv[0], strerror(errno));
}

/* --- the caller's streams ------------------------------------------------------------------- */

/* Otherwise our connection would become the missing stream. */
static void open_missing_streams(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

static bool is_null(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

/* On one terminal there is nothing to keep apart. */
static bool is_on_terminal(void)
{
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
}

/* --- the request ----------------------------------------------------------------------------- */

static void write_streams(const struct sh_run *r, struct json_out *o)
{
    uint16_t rows = 24, cols = 80;

    if (r->pty) {
        user_terminal_size(&rows, &cols);
        json_key(o, "pty");
        json_open(o, '{');
        json_kint(o, "rows", rows);
        json_kint(o, "cols", cols);
        json_close(o, '}');
    } else {
        json_kstr(o, "delivery", "lossless");
        json_kstr(o, "stdin", r->input ? "pipe" : "null");
    }
    json_kint(o, "hold_ms", SH_RETRY_MS);
    json_key(o, "on_detach");
    json_open(o, '{');
    json_kint(o, "kill_after_ms", SH_ALONE_MS);
    json_close(o, '}');
}

/* Returns the count of variables. */
static size_t write_body(const struct client_call *call, const struct sh_run *r, bool prelude,
                         struct buf *out)
{
    hf_autobuf struct buf label = {0};
    struct json_out o;
    size_t count;

    json_out_init(&o, out);
    json_open(&o, '{');
    shell_exec_put(&r->exec, prelude ? r->self : NULL, &o);
    json_kbool(&o, "clear_env", true);
    count = shell_exec_put_env(&o);
    shell_plan_label(call->operand_count, call->operands, &label);
    json_kstr(&o, "label", buf_cstr(&label));
    json_kstr(&o, "source", "agent");
    write_streams(r, &o);
    json_close(&o, '}');
    return count;
}

/* The umask alone is no reason to refuse a daemon elsewhere; its files are its own. */
static const char *build(const struct client_call *call, struct sh_run *r, struct buf *body)
{
    bool local = daemon_address_is_local(&call->place);
    bool prelude;
    ssize_t n;

    if (getcwd(r->cwd, sizeof r->cwd) == NULL)
        return "the current directory cannot be named";
    r->exec.cwd = r->cwd;
    r->exec.mask = umask(0);
    umask(r->exec.mask);
    prelude = shell_exec_is_needed(&r->exec, local);
    if (prelude && !local)
        return "arguments, variables or directory are not UTF-8, and the daemon is elsewhere";
    n = prelude ? readlink("/proc/self/exe", r->self, sizeof r->self - 1) : 0;
    if (n < 0)
        return "the path of this program cannot be read";
    r->self[n] = '\0';
    if (write_body(call, r, prelude, body) > LIMIT_ENV)
        return "the environment has too many variables for a request";
    if (call->operand_count > LIMIT_ARGS - SH_OTHER_ARGS)
        return "there are too many arguments for a request";
    if (body->len > LIMIT_JSON_BODY_BYTES)
        return "command and environment do not fit in a request of 1 MiB";
    return NULL;
}

/* --- running ---------------------------------------------------------------------------------- */

static int stay(const struct client_call *call, const struct sh_run *r, const char *id)
{
    struct attach_options o = {
        .id = id,
        .since = "0",
        .detach_keys = "",
        .retry_ms = SH_RETRY_MS,
        .pty = r->pty,
        .raw = r->pty,
        .input = r->input,
        .owner = true,
        .ends = true,
        .quiet = true,
    };

    return attach_run(call, &o);
}

static int run_in_daemon(const struct client_call *call, const struct sh_run *r,
                         const struct buf *body)
{
    fetch_autoreply struct fetch_reply reply = {0};
    struct hf_error err = {0};
    bool reached;
    int rc = create_call(call, body, &reply, &err, &reached);

    if (rc < 0 && !reached)
        return run_directly(call, r, err.detail);
    if (rc < 0)
        return command_complain(call, SH_UNAVAILABLE, "%s", err.detail);
    rc = request_check(call, rc, &err, &reply);
    if (rc != CLI_OK)
        return rc == CLI_FAILED ? CLI_NO_DAEMON : rc;
    return stay(call, r, request_json_text(reply.json, "id"));
}

/* The operands, and -l before them if we were called as a login shell. */
static char **shell_args(const struct client_call *call)
{
    static char login[] = "-l";
    char **args = hf_xalloc(((size_t)call->operand_count + 2) * sizeof *args);
    size_t n = 0;

    if (shell_plan_is_login(call->called_as))
        args[n++] = login;
    memcpy(args + n, call->operands, (size_t)call->operand_count * sizeof *args);
    return args;
}

static int sh_main(struct client_call *call)
{
    hf_autobuf struct buf body = {0};
    struct sh_run r = {0};
    const char *why;
    int rc;

    if (call->json || call->format != NULL)
        return command_complain(call, CLI_USAGE, "--json and --format are not for sh");
    open_missing_streams();
    r.pty = is_on_terminal();
    r.input = !is_null(STDIN_FILENO);
    r.exec.shell = shell_plan_find(call->called_as);
    r.exec.args = shell_args(call);
    why = build(call, &r, &body);
    rc = why != NULL ? run_directly(call, &r, why) : run_in_daemon(call, &r, &body);
    free(r.exec.shell);
    free(r.exec.args);
    return rc;
}

const struct command sh_command = {
    .name = "sh",
    .operands = "[ARG...]",
    .summary = "a shell for agents: its commands are processes of the daemon",
    .about =
        "Runs bash (HOLDFAST_SHELL; else /bin/sh) with all arguments in the daemon, with this\n"
        "directory, environment and umask. Standard streams, signals and the exit code are passed\n"
        "on exactly; on a terminal the shell has one, too. The shell and its processes end when\n"
        "this command does, also by SIGKILL. Their output stays: see holdfast ps -a and logs.\n"
        "Without a daemon the shell runs directly, after a warning; with HOLDFAST_SH_STRICT=1 the\n"
        "exit code is 69 instead. It is 125 if the daemon refuses.\n"
        "\n"
        "Where only a path fits, use a symbolic link named holdfast-sh, holdfast-bash or\n"
        "holdfast-zsh, or bash, zsh or sh in a directory of its own:\n"
        "  ln -s $(command -v holdfast) /usr/local/bin/holdfast-bash\n"
        "  CLAUDE_CODE_SHELL=/usr/local/bin/holdfast-bash claude\n"
        "  SHELL=/usr/local/bin/holdfast-sh make check\n"
        "  holdfast sh -c 'git status | head -3'\n",
    .takes_bytes = true,
    .all_operands = true,
    .run = sh_main,
};
