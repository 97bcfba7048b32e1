/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_cp.c - `holdfast cp`: finds out what is to be copied where
 *
 * A path that begins with ':' is one of the sandbox. The copying is in copy_upload.c and
 * copy_download.c. Layer: cli.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/client/client_print.h"
#include "cli/client/client_request.h"
#include "cli/client/copy_own.h"

#define OPT_ARGS struct copy_args

static const struct opt opts[] = {
    OPT_TEXT("--user", 'u', user, "USER", "with the rights of this user of the sandbox"),
};

#define LINKS_MOST 40 /* as the kernel */

/* --- names ----------------------------------------------------------------------------------- */

void copy_put_route(const struct copying *c, struct buf *out, const char *route, const char *path)
{
    buf_printf(out, "/v1/files/%s?path=", route);
    fetch_escape(out, path);
    request_put_query(c->call, "user", out);
}

/* Appends the last component of `path`; nothing for "..", "." and "/": then the contents go there.
 */
static void put_below(struct buf *out, const char *path)
{
    size_t end = strlen(path), at;

    while (end > 0 && path[end - 1] == '/')
        end--;
    for (at = end; at > 0 && path[at - 1] != '/';)
        at--;
    if (end == at || (path[at] == '.' && (end - at == 1 || (end - at == 2 && path[at + 1] == '.'))))
        return;
    if (out->len > 0 && buf_data(out)[out->len - 1] != '/')
        buf_putc(out, '/');
    buf_put(out, path + at, end - at);
}

const char *copy_target(struct copying *c, const char *to, bool is_directory, const char *from)
{
    buf_clear(&c->target);
    buf_puts(&c->target, to);
    if (is_directory)
        put_below(&c->target, from);
    return buf_cstr(&c->target);
}

int copy_fail(const struct copying *c, int rc, const char *path)
{
    return command_complain(c->call, CLI_FAILED, "%s: %s", path, strerror(-rc));
}

/* --- what there is ---------------------------------------------------------------------------- */

static int stat_once(const struct copying *c, const char *path, struct fetch_reply *r)
{
    hf_autobuf struct buf route = {0};
    struct fetch_request get = {.method = "GET"};
    struct hf_error err = {0};
    int rc;

    copy_put_route(c, &route, "stat", path);
    get.path = buf_cstr(&route);
    rc = request_call(c->call, &get, r, &err);
    if (rc == 0 && strcmp(request_json_text(r->json, "code"), "no_such_file") == 0)
        return CLI_OK;
    return request_check(c->call, rc, &err, r);
}

static void read_entry(const json_t *entry, struct copy_stat *out)
{
    const char *type = request_json_text(entry, "type"), *digits;

    if (strcmp(type, "symlink") == 0)
        type = request_json_text(entry, "target_type");
    out->is_directory = strcmp(type, "directory") == 0;
    for (digits = request_json_text(entry, "mode"); *digits >= '0' && *digits <= '7'; digits++)
        out->mode = (out->mode << 3 | (unsigned)(*digits - '0')) & 0777;
}

/* A link's own permissions mean nothing: those of what it leads to count. */
int copy_stat_remote(const struct copying *c, const char *path, struct copy_stat *out)
{
    hf_autobuf struct buf at = {0};
    int rc = CLI_OK;

    buf_puts(&at, path);
    for (int links = 0; rc == CLI_OK && links < LINKS_MOST; links++) {
        fetch_autoreply struct fetch_reply r = {0};
        const char *target, *slash;

        rc = stat_once(c, buf_cstr(&at), &r);
        if (rc != CLI_OK)
            break;
        *out = (struct copy_stat){.exists = r.status == 200};
        if (!out->exists)
            break;
        read_entry(r.json, out);
        target = request_json_text(r.json, "target");
        if (strcmp(request_json_text(r.json, "type"), "symlink") != 0 || target[0] == '\0')
            break;
        slash = strrchr(buf_cstr(&at), '/');
        at.len = target[0] == '/' || slash == NULL ? 0 : (size_t)(slash - buf_data(&at)) + 1;
        buf_puts(&at, target);
    }
    return rc;
}

/* --- the command ----------------------------------------------------------------------------- */

/* NULL: a path of this machine. ":" alone is the home directory. */
static const char *remote_path(const char *operand)
{
    if (operand[0] != ':')
        return NULL;
    return operand[1] != '\0' ? operand + 1 : ".";
}

static int cp_main(struct client_call *call)
{
    const char *from = call->operands[0], *to = call->operands[1];
    const char *remote_from = remote_path(from), *remote_to = remote_path(to);
    struct copying c = {.call = call};
    int rc;

    if ((remote_from != NULL) == (remote_to != NULL))
        return command_complain(call, CLI_USAGE,
                                "one of SRC and DST must be in the sandbox, and begin with ':'%s",
                                remote_from != NULL ? "; to copy inside it: holdfast run cp" : "");
    if (from[0] == '\0' || to[0] == '\0')
        return command_complain(call, CLI_USAGE, "a path must not be empty");
    if (remote_to != NULL)
        rc = copy_upload(&c, from, remote_to);
    else
        rc = copy_download(&c, remote_from, to);
    copy_progress_end(&c.progress);
    buf_fini(&c.target);
    return rc;
}

const struct command cp_command = {
    .name = "cp",
    .operands = "SRC DST",
    .summary = "copy files and directories to the sandbox or from it",
    .about = "A path that begins with ':' is in the sandbox; '-' is standard input or output. A\n"
             "directory is copied with everything in it. Into an existing directory the copy goes\n"
             "under its own name; otherwise DST is the copy's name, and its directory must exist.\n"
             "Permissions are kept, and links stay links. A file appears whole or not at all.\n\n"
             "  holdfast cp notes.txt :/tmp/            to the sandbox\n"
             "  holdfast cp :/var/log/app .             a directory from it\n"
             "  holdfast cp --user agent src :          into the home directory of a user\n"
             "  tar c . | holdfast cp - :/tmp/all.tar   from standard input\n"
             "  holdfast cp :/etc/os-release -          to standard output\n",
    COMMAND_OPTS(opts),
    .takes_bytes = true,
    .run = cp_main,
};
