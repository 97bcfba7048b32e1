/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - finds and runs the command that was named. Layer: cli.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/builtin_commands.h"
#include "cli/client/client_print.h"
#include "cli/client/command.h"
#include "cli/client/shell_plan.h"
#include "cli/dialects.h"
#include "cli/gateway_command.h"
#include "cli/serve.h"
#include "keeper/keeper.h"

static int version_main(int argc, char **argv)
{
    char names[DIALECTS_NAMES_BYTES];

    (void)argc, (void)argv;
    dialects_print_names(names, sizeof names, false);
    printf("holdfast %s\ndialects: native%s%s\n", HF_VERSION, names[0] != '\0' ? ", " : "", names);
    return print_done(0);
}

static int dispatch(int argc, char **argv);

/* A running keeper executes this before an upgrade: could this binary take over? */
static int upgrade_check_main(int argc, char **argv)
{
    uint64_t version;

    if (argc < 3 || !text_to_u64(argv[2], UINT32_MAX, &version))
        return 2;
    if (version != KEEPER_STATE_VERSION) {
        fprintf(stderr, "the daemon's state has version %s, but this binary supports %d\n", argv[2],
                KEEPER_STATE_VERSION);
        return 1;
    }
    /* An older keeper checks no more than this. */
    if (argc == 3)
        return KEEPER_CHECK_YES;
    serve_try();
    return dispatch(argc - 3, argv + 3);
}

static int help_main(int argc, char **argv);

static const struct builtin {
    const char *name;
    int (*main)(int argc, char **argv);
    const char *help; /* NULL: internal */
} builtins[] = {
    {"serve", serve_main, "run the daemon"},
    {"stop", stop_main, "stop the daemon and its processes, or with --keep only the daemon"},
    {"restart", stop_restart_main,
     "restart the daemon with the installed binary; processes keep running"},
    {"routes", routes_main, "list every endpoint of the daemon and the role that it needs"},
    {"gateway", gateway_main, "run a reverse proxy to many sandboxes"},
    {"gateway-link", gateway_link_main, "print a signed link through the gateway"},
    {"gateway-key", gateway_key_main, "print the key with which a sandbox registers"},
    {"version", version_main, "print the version and the dialects that are built in"},
    {"help", help_main, "print this help; see also holdfast COMMAND --help"},
    {"upgrade-check", upgrade_check_main, NULL},
    {"file-op", file_op_main, NULL},
    {"port-relay", port_relay_main, NULL},
    {"sh-exec", shell_exec_main, NULL},
    {"server", impersonate_sandbox_agent, NULL},
};
#define BUILTINS (sizeof builtins / sizeof builtins[0])

static int help_main(int argc, char **argv)
{
    const struct command *c = argc > 2 ? command_find(argv[2]) : NULL;
    struct buf text = {0};
    size_t i;

    if (c != NULL) {
        command_help(c, &text);
        print_buf(&text);
        return print_done(0);
    }
    puts("usage: holdfast COMMAND [OPTION...]\n\nProcesses and terminals in sandboxes.\n");
    for (i = 0; client_commands[i] != NULL; i++)
        printf("  %-12s %s\n", client_commands[i]->name, client_commands[i]->summary);
    for (i = 0; i < BUILTINS; i++)
        if (builtins[i].help != NULL)
            printf("  %-12s %s\n", builtins[i].name, builtins[i].help);
    return print_done(0);
}

static int dispatch(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    size_t i;

    if (argc > 0 && impersonate_is_opencode(argv[0]) && strcmp(name, "upgrade-check") != 0)
        return impersonate_opencode(argc, argv);
    if (argc > 0 && shell_plan_is_name(argv[0]))
        return command_main_as(&sh_command, argv[0], argc - 1, argv + 1);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    if (strcmp(name, "--version") == 0)
        name = "version";
    for (i = 0; i < BUILTINS; i++)
        if (strcmp(name, builtins[i].name) == 0)
            return builtins[i].main(argc, argv);
    if (command_find(name) != NULL)
        return command_main(command_find(name), argc, argv);
    fprintf(stderr,
            name[0] != '\0' ? "holdfast: unknown command '%s'; see holdfast help\n"
                            : "holdfast: no command given;%s see holdfast help\n",
            name);
    return 2;
}

int main(int argc, char **argv)
{
    return dispatch(argc, argv);
}
