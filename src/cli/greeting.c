/* SPDX-License-Identifier: Apache-2.0 */
/*
 * greeting.c - collects and prints what a person needs after starting the daemon. Layer: cli.
 */
#include "cli/greeting.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "cli/page_link.h"
#include "cli/token_file.h"
#include "dialects/native/native.h"

#define PROGRAM "holdfast"
#define CLIENT_URL "http://127.0.0.1:7070" /* the default of client commands */
#define MINUTE_MS 60000

struct greeting {
    const struct serve_options *options;
    struct buf program;     /* as typed in the directory where the daemon was started */
    char token_path[500];   /* of the generated file; "": not used */
    bool token_path_is_own; /* below HOLDFAST_STATE_DIR, which other shells may not have set */
};

/* --- how the program is called ------------------------------------------------------------- */

static bool is_this_binary(const char *path)
{
    struct stat self, there;

    return stat("/proc/self/exe", &self) == 0 && stat(path, &there) == 0 &&
           self.st_dev == there.st_dev && self.st_ino == there.st_ino;
}

/* Does the command "holdfast" in a shell run this binary? */
static bool is_on_path(void)
{
    const char *path = getenv("PATH");
    char file[PATH_MAX];

    while (path != NULL) {
        size_t len = strcspn(path, ":");

        /* An empty element is the working directory. */
        snprintf(file, sizeof file, "%.*s/" PROGRAM, len > 0 ? (int)len : 1, len > 0 ? path : ".");
        if (access(file, X_OK) == 0)
            return is_this_binary(file);
        path = path[len] == ':' ? path + len + 1 : NULL;
    }
    return false;
}

/* Makes a path below the working directory relative; a bare name needs "./". */
static const char *shorten(const char *file, char *out, size_t size)
{
    char dir[PATH_MAX];
    size_t len;

    if (getcwd(dir, sizeof dir) == NULL)
        return file;
    len = strlen(dir);
    if (strncmp(file, dir, len) != 0 || file[len] != '/')
        return file;
    file += len + 1;
    snprintf(out, size, "%s%s", strchr(file, '/') != NULL ? "" : "./", file);
    return out;
}

/* Quotes the text only if it has characters that are special to a shell. */
static void put_word(struct buf *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+:@%,=";

    if (word[strspn(word, plain)] == '\0')
        buf_puts(out, word);
    else
        buf_put_quoted(out, word);
}

static void find_program(struct buf *out)
{
    char file[PATH_MAX], brief[PATH_MAX];
    ssize_t n;

    if (is_on_path()) {
        buf_puts(out, PROGRAM);
        return;
    }
    n = readlink("/proc/self/exe", file, sizeof file - 1);
    file[n > 0 ? n : 0] = '\0';
    put_word(out, n > 0 ? shorten(file, brief, sizeof brief) : PROGRAM);
}

struct greeting *greeting_new(const struct serve_options *o, bool token_from_env)
{
    struct greeting *g = hf_xalloc(sizeof *g);

    g->options = o;
    find_program(&g->program);
    if (!o->no_auth && o->token_file == NULL && !token_from_env) {
        token_default_path(g->token_path, sizeof g->token_path);
        g->token_path_is_own = getenv("HOLDFAST_STATE_DIR") != NULL;
    }
    return g;
}

void greeting_free(struct greeting *g)
{
    if (g == NULL)
        return;
    buf_fini(&g->program);
    free(g);
}

/* --- the text ------------------------------------------------------------------------------- */

static void put_token(const struct greeting *g, struct buf *out)
{
    if (g->options->no_auth)
        buf_puts(out, "No token is needed, because of --no-auth.\n");
    else if (g->options->token_file != NULL)
        buf_printf(out, "The tokens are in %s (--token-file).\n", g->options->token_file);
    else if (g->token_path[0] != '\0')
        buf_printf(out, "The token is kept in %s.\n", g->token_path);
    else
        buf_puts(out,
                 "The token came from " TOKEN_ENV ". Client commands read it from there, too.\n");
}

/* "holdfast ps", with the options that it needs to reach this daemon. */
static void put_command(const struct greeting *g, struct buf *out, const char *name,
                        const char *url)
{
    const char *file = g->options->token_file != NULL ? g->options->token_file
                       : g->token_path_is_own         ? g->token_path
                                                      : NULL;
    struct buf local = {0};

    buf_printf(out, "%.*s %s", (int)g->program.len, buf_data(&g->program), name);
    link_put(&local, url);
    if (strcmp(buf_cstr(&local), CLIENT_URL) != 0) {
        buf_puts(out, " --url ");
        put_word(out, buf_cstr(&local));
    }
    /* On a unix socket the daemon identifies the user without a token. */
    if (file != NULL && !g->options->no_auth && link_rank(url) > 0) {
        buf_puts(out, " --token-file ");
        put_word(out, file);
    }
    buf_putc(out, '\n');
    buf_fini(&local);
}

/* "open http://...": alone on the last line, and no ticket where none is needed. */
static void put_link(const struct greeting *g, struct buf *out, struct auth *auth, const char *url)
{
    char ticket[AUTH_TICKET_BYTES] = "";
    int64_t end;

    if (!g->options->no_auth &&
        auth_ticket_new(auth, ROLE_OWN, 0, AUTH_TICKET_START_MS, ticket, &end) == 0)
        buf_printf(out, "The link below signs one browser in. It expires in %d minutes.\n",
                   AUTH_TICKET_START_MS / MINUTE_MS);
    buf_puts(out, "open ");
    link_put(out, url);
    buf_printf(out, ticket[0] != '\0' ? "/?ticket=%s\n" : "/%s\n", ticket);
    hf_wipe(ticket, sizeof ticket);
}

static void put_page(const struct greeting *g, struct buf *out, struct auth *auth, const char *url)
{
    if (!native_has_page()) {
        buf_puts(out, "This binary was built without the page for browsers, so there is no link. "
                      "To build it, run scripts/setup start, then make.\n");
        return;
    }
    if (url == NULL) {
        buf_puts(out, "The daemon listens only on a unix socket, which a browser cannot open. "
                      "For a link, add --listen 127.0.0.1:7070.\n");
        return;
    }
    buf_puts(out, "For a fresh link at any time: ");
    put_command(g, out, "open", url);
    put_link(g, out, auth, url);
}

void greeting_print(const struct greeting *g, struct auth *auth, const char *const *urls,
                    size_t count)
{
    const char *url = NULL;
    struct buf out = {0};

    for (size_t i = 0; i < count; i++)
        url = link_better(url, urls[i]);
    put_token(g, &out);
    if (count == 0) {
        buf_puts(&out, "The daemon serves only dialects, so there is no page and no link.\n");
    } else {
        buf_puts(&out, "To list processes: ");
        put_command(g, &out, "ps", url != NULL ? url : urls[0]);
        put_page(g, &out, auth, url);
    }
    io_write_all(STDOUT_FILENO, buf_data(&out), out.len);
    buf_wipe(&out);
}
