/* SPDX-License-Identifier: Apache-2.0 */
/*
 * impersonate.c - acts as the sandbox-agent server and as `opencode serve`
 *
 * Their command lines become one of `holdfast serve`. Options that we do not know are ignored.
 * Layer: cli.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/builtin_commands.h"
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

struct posed {
    const char *host, *port, *cors[CORS_MAX];
    char *token;
    size_t cors_count;
    char level[8];
    bool no_auth;
};

/* "--name=value" or "--name value"; NULL: another option, or the value is missing. */
static char *option(const char *name, int argc, char **argv, int *i)
{
    char *next = *i + 1 < argc ? argv[*i + 1] : NULL;
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

static int serve_as(const struct posed *p, const char *dialect, char **real)
{
    bool v6 = strchr(p->host, ':') != NULL && p->host[0] != '[';
    const char *as[10 + 2 * CORS_MAX] = {real[0], "serve", "--listen", "none", "--dialect"};
    char address[160];
    int n = 6;

    snprintf(address, sizeof address, "%s=%s%.100s%s:%.8s", dialect, v6 ? "[" : "", p->host,
             v6 ? "]" : "", p->port);
    as[5] = address;
    if (p->no_auth)
        as[n++] = "--no-auth";
    if (p->level[0] != '\0') {
        as[n++] = "--log-level";
        as[n++] = p->level;
    }
    for (size_t i = 0; i < p->cors_count; i++) {
        as[n++] = "--cors-origin";
        as[n++] = p->cors[i];
    }
    return serve_main_as(n, (char **)(uintptr_t)as, real);
}

/* --- sandbox-agent ---------------------------------------------------------------------------- */

/* False: an option lacks its value. */
static bool agent_parse(struct posed *p, int argc, char **argv)
{
    static const char *const names[] = {"--host", "--port", "--cors-allow-origin", "--token"};

    for (int i = 2; i < argc; i++) {
        char *value = NULL;
        size_t which = 0;

        p->no_auth = p->no_auth || strcmp(argv[i], "--no-token") == 0;
        while (which < 4 && strcmp(argv[i], names[which]) != 0)
            which++;
        if (which < 4 && (value = option(names[which], argc, argv, &i)) == NULL)
            return false;
        switch (which) {
        case 0: p->host = value; break;
        case 1: p->port = value; break;
        case 2: p->cors[0] = value; break;
        case 3: p->token = value; break;
        default: break;
        }
    }
    p->cors_count = p->cors[0] != NULL;
    return true;
}

/* Anyone can read a command line, and children inherit an environment: the first is overwritten
 * here, the second by the function that reads the token from it. */
static void agent_hide_token(const struct posed *p)
{
    /* After an upgrade it is overwritten already, and the token was handed over. */
    if (p->token == NULL || getenv(KEEPER_RESUME_ENV) != NULL)
        return;
    setenv(TOKEN_ENV, p->token, 1);
    memset(p->token, 'x', strlen(p->token));
}

int impersonate_sandbox_agent(int argc, char **argv)
{
    struct posed p = {.host = "127.0.0.1", .port = "2468"};

    if (!agent_parse(&p, argc, argv))
        return cli_complain("server", 2, "a value is missing for an option");
    if (p.token == NULL && !p.no_auth)
        return cli_complain("server", 2, "use --token TOKEN or --no-token");
    agent_hide_token(&p);
    return serve_as(&p, "sandbox-agent", argv);
}

/* --- opencode --------------------------------------------------------------------------------- */

bool impersonate_is_opencode(const char *argv0)
{
    const char *slash = strrchr(argv0, '/');

    return strcmp(slash != NULL ? slash + 1 : argv0, "opencode") == 0;
}

static void set_level(struct posed *p, const char *name)
{
    size_t n = 0;

    for (; name[n] != '\0' && n + 1 < sizeof p->level; n++)
        p->level[n] = (char)tolower((unsigned char)name[n]);
    p->level[n] = '\0';
}

static void opencode_parse(struct posed *p, int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        const char *value;

        if (strcmp(argv[i], PASSWORD_MARK) == 0)
            p->no_auth = false;
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
static bool take_password(struct posed *p)
{
    struct buf password = {0};
    bool ok = true;

    if (token_take_env(PASSWORD_ENV, &password)) {
        p->no_auth = false;
        ok = password_is_good(buf_cstr(&password));
        setenv(TOKEN_ENV, buf_cstr(&password), 1);
    }
    buf_wipe(&password);
    unsetenv(PASSWORD_ENV);
    unsetenv(CONFIG_ENV);
    return ok;
}

/* The original command line, plus the mark that there was a password. The caller frees it. */
static char **real_argv(const struct posed *p, int argc, char **argv)
{
    static char mark[] = PASSWORD_MARK;
    char **out = hf_xalloc(((size_t)argc + 2) * sizeof *out);

    memcpy(out, argv, (size_t)argc * sizeof *out);
    if (!p->no_auth && getenv(KEEPER_RESUME_ENV) == NULL)
        out[argc] = mark;
    return out;
}

int impersonate_opencode(int argc, char **argv)
{
    struct posed p = {.host = "127.0.0.1", .port = "4096", .no_auth = true};
    char **real;
    int rc;

    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        puts(OC_VERSION);
        return 0;
    }
    if (argc < 2 || strcmp(argv[1], "serve") != 0) {
        fprintf(stderr, "opencode: this is holdfast, which supports only: opencode serve\n");
        return 2;
    }
    opencode_parse(&p, argc, argv);
    if (!take_password(&p)) {
        fprintf(stderr,
                "opencode serve: " PASSWORD_ENV
                " must have at least %d printable characters, and no space\n",
                AUTH_TOKEN_MIN);
        return 2;
    }
    real = real_argv(&p, argc, argv);
    rc = serve_as(&p, "opencode", real);
    free(real);
    return rc;
}
