/* SPDX-License-Identifier: Apache-2.0 */
/*
 * impersonate.c - accepts the command line of the sandbox-agent server. Layer: cli.
 */
#include "cli/impersonate.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/serve.h"
#include "cli/token_file.h"
#include "keeper/keeper.h"

struct impersonate_posed {
    const char *host, *port, *cors;
    char *token;
    bool no_token;
};

/* False: an option lacks its value. Unknown options are ignored. */
static bool posed_parse(struct impersonate_posed *p, int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        char **value = NULL;
        char *at;

        if (strcmp(argv[i], "--no-token") == 0) {
            p->no_token = true;
            continue;
        }
        if (strcmp(argv[i], "--host") == 0)
            value = (char **)&p->host;
        else if (strcmp(argv[i], "--port") == 0)
            value = (char **)&p->port;
        else if (strcmp(argv[i], "--token") == 0)
            value = &p->token;
        else if (strcmp(argv[i], "--cors-allow-origin") == 0)
            value = (char **)&p->cors;
        if (value == NULL)
            continue;
        if (i + 1 == argc)
            return false;
        at = argv[++i];
        *value = at;
    }
    return true;
}

/* Anyone can read a command line, and children inherit an environment: the first is overwritten
 * here, the second by the function that reads the token from it. */
static void posed_hide_token(struct impersonate_posed *p)
{
    /* After an upgrade it is overwritten already, and the token was handed over. */
    if (p->token == NULL || getenv(KEEPER_RESUME_ENV) != NULL)
        return;
    setenv(TOKEN_ENV, p->token, 1);
    memset(p->token, 'x', strlen(p->token));
}

int impersonate_sandbox_agent(int argc, char **argv)
{
    struct impersonate_posed p = {.host = "127.0.0.1", .port = "2468"};
    char dialect[160];
    const char *as[10] = {argv[0], "serve", "--listen", "none", "--dialect", dialect};
    int n = 6;

    if (!posed_parse(&p, argc, argv)) {
        fprintf(stderr, "holdfast server: an option lacks its value\n");
        return 2;
    }
    if (p.token == NULL && !p.no_token) {
        fprintf(stderr, "holdfast server: use --token TOKEN or --no-token\n");
        return 2;
    }
    snprintf(dialect, sizeof dialect, "sandbox-agent=%.100s:%.8s", p.host, p.port);
    posed_hide_token(&p);
    if (p.no_token)
        as[n++] = "--no-auth";
    if (p.cors != NULL) {
        as[n++] = "--cors-origin";
        as[n++] = p.cors;
    }
    return serve_main_as(n, (char **)(uintptr_t)as, argv);
}
