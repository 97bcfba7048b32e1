/* SPDX-License-Identifier: Apache-2.0 */
/*
 * impersonate_opencode.c - acts as `opencode serve`, which createOpencode() of its SDK starts
 *
 * Layer: cli.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/impersonate.h"
#include "cli/serve.h"
#include "cli/token_file.h"
#include "dialects/opencode/opencode.h"
#include "keeper/keeper.h"
#include "transport/auth.h"

#define PASSWORD_ENV "OPENCODE_SERVER_PASSWORD"
#define CONFIG_ENV "OPENCODE_CONFIG_CONTENT" /* may contain API keys of providers */
/* Added to the command line of a newer binary: the password is wiped by then. */
#define PASSWORD_MARK "--with-password"
#define CORS_MAX 8

struct impersonate_opencode_posed {
    const char *host, *port, *cors[CORS_MAX];
    size_t cors_count;
    char level[8];
    bool with_password;
};

bool impersonate_is_opencode(const char *argv0)
{
    const char *slash = strrchr(argv0, '/');

    return strcmp(slash != NULL ? slash + 1 : argv0, "opencode") == 0;
}

/* "--name=value" or "--name value"; NULL: another option. */
static const char *option(const char *name, int argc, char **argv, int *i)
{
    const char *next = *i + 1 < argc ? argv[*i + 1] : NULL;
    size_t len = strlen(name);

    if (strncmp(argv[*i], name, len) != 0)
        return NULL;
    if (argv[*i][len] == '=')
        return argv[*i] + len + 1;
    if (argv[*i][len] != '\0' || next == NULL)
        return NULL;
    ++*i;
    return next;
}

static void set_level(struct impersonate_opencode_posed *p, const char *name)
{
    size_t n = 0;

    for (; name[n] != '\0' && n + 1 < sizeof p->level; n++)
        p->level[n] = (char)tolower((unsigned char)name[n]);
    p->level[n] = '\0';
}

/* Unknown options are ignored. */
static void posed_parse(struct impersonate_opencode_posed *p, int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        const char *value;

        if (strcmp(argv[i], PASSWORD_MARK) == 0)
            p->with_password = true;
        else if ((value = option("--hostname", argc, argv, &i)) != NULL)
            p->host = strcmp(value, "localhost") == 0 ? "127.0.0.1" : value;
        else if ((value = option("--port", argc, argv, &i)) != NULL)
            p->port = value;
        else if ((value = option("--log-level", argc, argv, &i)) != NULL)
            set_level(p, value);
        else if ((value = option("--cors", argc, argv, &i)) != NULL && p->cors_count < CORS_MAX)
            p->cors[p->cors_count++] = value;
    }
}

/* The password becomes the daemon's token, so the rules for tokens apply. */
static bool password_is_good(const char *text)
{
    struct auth *a = auth_new();
    bool ok = auth_add_token(a, text, strlen(text), ROLE_OWN) == 0;

    auth_free(a);
    return ok;
}

/* Removes the password from the environment, which every child inherits. False: invalid. */
static bool take_password(struct impersonate_opencode_posed *p)
{
    char *password = getenv(PASSWORD_ENV);
    bool ok = true;

    if (password != NULL && password[0] != '\0') {
        char *copy = hf_xstrdup(password); /* setenv() may move what getenv() returned */
        size_t len = strlen(password);

        p->with_password = true;
        ok = password_is_good(copy);
        hf_wipe(password, len);
        setenv(TOKEN_ENV, copy, 1);
        hf_wipe(copy, len);
        free(copy);
    }
    unsetenv(PASSWORD_ENV);
    unsetenv(CONFIG_ENV);
    return ok;
}

/* The original command line, plus the mark that there was a password. The caller frees it. */
static char **real_argv(const struct impersonate_opencode_posed *p, int argc, char **argv,
                        bool resumed)
{
    static char mark[] = PASSWORD_MARK;
    char **out = hf_xalloc(((size_t)argc + 2) * sizeof *out);

    memcpy(out, argv, (size_t)argc * sizeof *out);
    if (p->with_password && !resumed)
        out[argc] = mark;
    return out;
}

static int serve(struct impersonate_opencode_posed *p, int argc, char **argv, bool resumed)
{
    bool v6 = strchr(p->host, ':') != NULL && p->host[0] != '[';
    const char *as[10 + 2 * CORS_MAX] = {argv[0], "serve", "--listen", "none", "--dialect"};
    char dialect[160], **real = real_argv(p, argc, argv, resumed);
    int n = 6;

    snprintf(dialect, sizeof dialect, "opencode=%s%.100s%s:%.8s", v6 ? "[" : "", p->host,
             v6 ? "]" : "", p->port);
    as[5] = dialect;
    if (!p->with_password)
        as[n++] = "--no-auth";
    if (p->level[0] != '\0') {
        as[n++] = "--log-level";
        as[n++] = p->level;
    }
    for (size_t i = 0; i < p->cors_count; i++) {
        as[n++] = "--cors-origin";
        as[n++] = p->cors[i];
    }
    n = serve_main_as(n, (char **)(uintptr_t)as, real);
    free(real);
    return n;
}

int impersonate_opencode(int argc, char **argv)
{
    struct impersonate_opencode_posed p = {.host = "127.0.0.1", .port = "4096"};
    bool resumed = getenv(KEEPER_RESUME_ENV) != NULL;

    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        puts(OC_VERSION);
        return 0;
    }
    if (argc < 2 || strcmp(argv[1], "serve") != 0) {
        fprintf(stderr, "opencode: this is holdfast, which supports only: opencode serve\n");
        return 2;
    }
    posed_parse(&p, argc, argv);
    if (!take_password(&p)) {
        fprintf(stderr,
                "opencode serve: " PASSWORD_ENV
                " must have at least %d printable characters, and no space\n",
                AUTH_TOKEN_MIN);
        return 2;
    }
    return serve(&p, argc, argv, resumed);
}
