/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_token.c - `holdfast token`: shows where the daemon's tokens are, and replaces one
 *
 * The file is authoritative: it is written first, then the daemon reloads it. If something fails in
 * between, a SIGHUP or the next start loads the new token. The command changes only a file that the
 * user named or that it would use itself; a daemon cannot make it overwrite any other. Layer: cli.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "cli/client/client_print.h"
#include "cli/client/client_request.h"
#include "cli/token_file.h"
#include "transport/auth.h"

struct token_args {
    int64_t grace_ms;
    const char *role;
};
#define OPT_ARGS struct token_args

static const struct opt opts[] = {
    OPT_TIME("--grace", 0, grace_ms, "TIME", "rotate: how long the old token stays valid (0)"),
    OPT_TEXT("--role", 0, role, "own|type|watch",
             "rotate: replace the first token with this role in the file (own)"),
};

/* --- the file ------------------------------------------------------------------------ */

/* Copies the text with a new token in place of the old. False: no token has the role. */
static bool replace_token(const struct buf *text, enum role wanted, struct buf *out)
{
    const char *at = buf_data(text), *end = at + text->len;
    bool done = false;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *token;
        const char *next = newline != NULL ? newline + 1 : end;
        size_t len;
        enum role role;

        if (!done && auth_line_parse(at, (size_t)(next - at), &token, &len, &role) &&
            role == wanted) {
            buf_put(out, at, (size_t)(token - at));
            token_make(out);
            done = true;
        } else {
            buf_put(out, at, (size_t)(next - at));
        }
        at = next;
    }
    return done;
}

/* Atomic, even if the machine crashes. The owner stays the same; nobody else may read it. */
static int write_file(const char *path, const struct stat *was, const struct buf *text)
{
    char temporary[PATH_MAX], dir[PATH_MAX];
    hf_autoclose int fd = -1, dir_fd = -1;
    int rc;

    if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary)
        return -ENAMETOOLONG;
    snprintf(dir, sizeof dir, "%s", path);
    fd = mkostemp(temporary, O_CLOEXEC); /* mode 0600 */
    if (fd < 0)
        return -errno;
    rc = io_write_all(fd, buf_data(text), text->len);
    if (rc == 0 && (was->st_uid != geteuid() || was->st_gid != getegid()) &&
        fchown(fd, was->st_uid, was->st_gid) < 0)
        rc = -errno;
    if (rc == 0 && (fsync(fd) < 0 || rename(temporary, path) < 0))
        rc = -errno;
    if (rc < 0) {
        (void)unlink(temporary);
        return rc;
    }
    dir_fd = open(dirname(dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir_fd >= 0 && fsync(dir_fd) < 0 ? -errno : 0;
}

static int rotate_file(const struct client_call *call, const char *path, enum role role)
{
    struct buf text = {0}, fresh = {0};
    struct stat st;
    int rc = CLI_FAILED, did;

    if ((did = stat(path, &st) < 0 ? -errno : io_read_file(path, TOKEN_FILE_BYTES_MAX, &text)) < 0)
        command_complain(call, rc, "cannot read the token file %s: %s", path, strerror(-did));
    else if (!replace_token(&text, role, &fresh))
        command_complain(call, rc, "%s has no token with the role %s", path, http_role_name(role));
    else if ((did = write_file(path, &st, &fresh)) < 0)
        command_complain(call, rc, "cannot write %s: %s", path, strerror(-did));
    else
        rc = CLI_OK;
    buf_wipe(&text);
    buf_wipe(&fresh);
    return rc;
}

/* --- the daemon ---------------------------------------------------------------------- */

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The file that this command would read, provided that the daemon reads the same one. */
static int find_file(const struct client_call *call, const json_t *info, char *path)
{
    const char *source = request_json_text(info, "source"), *file = request_json_text(info, "file");
    char ours[500] = "";

    if (strcmp(source, "none") == 0)
        return command_complain(call, CLI_FAILED, "the daemon does not use tokens (--no-auth)");
    if (strcmp(source, "file") != 0)
        return command_complain(
            call, CLI_FAILED,
            "the daemon read its token from its environment, which cannot be changed; "
            "start it with --token-file");
    if (call->token_file != NULL)
        snprintf(ours, sizeof ours, "%s", call->token_file);
    else
        (void)token_default_path(ours, sizeof ours);
    if (!is_same_file(ours, file))
        return command_complain(
            call, CLI_FAILED,
            "the daemon reads its tokens from %s; name that file with --token-file, on the "
            "daemon's machine and as a user with write permission",
            file);
    if (realpath(ours, path) == NULL)
        return command_complain(call, CLI_FAILED, "%s: %s", ours, strerror(errno));
    return CLI_OK;
}

static int reload(const struct client_call *call, const char *path, int64_t grace_ms)
{
    fetch_autoreply struct fetch_reply r = {0};
    hf_autobuf struct buf body = {0};
    const char *error;
    int rc;

    buf_printf(&body, "{\"grace_ms\":%lld}", (long long)grace_ms);
    rc = request(call, "POST", "/v1/reload", &body, &r);
    if (rc != CLI_OK)
        return command_complain(
            call, rc, "the new token is in %s, but the daemon may not have loaded it; send SIGHUP",
            path);
    error = request_json_text(r.json, "error");
    if (error[0] != '\0' || !json_is_true(json_object_get(r.json, "changed")))
        rc = command_complain(call, CLI_FAILED,
                              "the new token is in %s, but the daemon did not load it%s%s", path,
                              error[0] != '\0' ? ": " : "", error);
    else if (!print_value(call, r.json))
        printf("%s\n", path);
    return rc;
}

static bool parse_role(const char *name, enum role *out)
{
    for (*out = ROLE_WATCH; *out <= ROLE_OWN; ++*out)
        if (strcmp(name, http_role_name(*out)) == 0)
            return true;
    return false;
}

static int rotate(const struct client_call *call, const json_t *info)
{
    const struct token_args *a = call->args;
    enum role role = ROLE_OWN;
    char path[PATH_MAX];
    int rc;

    if (a->role != NULL && !parse_role(a->role, &role))
        return command_complain(call, CLI_USAGE, "--role must be own, type or watch");
    rc = find_file(call, info, path);
    if (rc == CLI_OK)
        rc = rotate_file(call, path, role);
    return rc == CLI_OK ? reload(call, path, a->grace_ms) : rc;
}

static void print_tokens(const json_t *info)
{
    static const char *const titles[] = {"TOKEN", "VALID UNTIL"};
    static const char *const fields[] = {"name", "expires_at"};
    const json_t *list = json_object_get(info, "tokens");
    const char *file = request_json_text(info, "file");

    printf("%s\n", file[0] != '\0' ? file : request_json_text(info, "source"));
    fflush(stdout); /* tables bypass stdio */
    if (json_array_size(list) > 0)
        columns_print_list(list, 2, titles, fields);
}

static int token_main(struct client_call *call)
{
    const char *verb = call->operand_count > 0 ? call->operands[0] : "show";
    fetch_autoreply struct fetch_reply r = {0};
    int rc;

    if (strcmp(verb, "show") != 0 && strcmp(verb, "rotate") != 0)
        return command_complain(call, CLI_USAGE, "'%s' is neither show nor rotate", verb);
    rc = request(call, "GET", "/v1/token", NULL, &r);
    if (rc != CLI_OK)
        return rc;
    if (strcmp(verb, "rotate") == 0)
        return rotate(call, r.json);
    if (!print_value(call, r.json))
        print_tokens(r.json);
    return CLI_OK;
}

const struct command token_command = {
    .name = "token",
    .operands = "[show|rotate]",
    .summary = "show where the daemon's tokens are, or replace one",
    .about =
        "rotate writes a new token to the token file and makes the daemon reload it. Processes\n"
        "and connections with other tokens are not affected. Connections with the old token, and\n"
        "pages signed in with it, are closed, at once or after --grace. Share links stay valid.\n"
        "It prints the path of the file, never a token. Run it on the daemon's machine.\n",
    COMMAND_OPTS(opts),
    .words = "show|rotate",
    .run = token_main,
};
