/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_completion.c - `holdfast completion`: prints completion scripts for bash, zsh and fish
 *
 * They are made from the same tables as parser and help. Layer: cli.
 */
#include <string.h>

#include "cli/client/client_print.h"
#include "cli/options.h"

/* Commands that are not clients: only their names, and the options of serve. */
static const struct {
    const char *name, *summary;
} others[] = {
    {"serve", "run the daemon"},
    {"stop", "stop the daemon and its processes"},
    {"restart", "restart the daemon with the installed binary"},
    {"routes", "list every endpoint of the daemon"},
    {"version", "print the version"},
    {"help", "list the commands"},
};
#define OTHERS (sizeof others / sizeof *others)

#define PROCESSES "holdfast ps -a --format '{id}\\n{tag}' 2>/dev/null"

typedef void choice_fn(struct buf *out, const char *command, const struct opt *o);

static void each_opt(struct buf *out, const char *command, const struct opt *rows, size_t count,
                     choice_fn *fn)
{
    for (size_t i = 0; i < count; i++)
        fn(out, command, &rows[i]);
}

static void each_client_opt(struct buf *out, const struct command *c, choice_fn *fn)
{
    each_opt(out, c->name, c->opts, c->opt_count, fn);
    each_opt(out, c->name, commands_common_opts, commands_common_opt_count, fn);
}

static void each_serve_opt(struct buf *out, choice_fn *fn)
{
    each_opt(out, "serve", serve_options_table.rows, serve_options_table.count, fn);
}

static bool is_choice(const char *value)
{
    return value != NULL && strchr(value, '|') != NULL;
}

static bool is_file(const char *value)
{
    return value != NULL && (strcmp(value, "FILE") == 0 || strcmp(value, "DIR") == 0);
}

/* "a|b" as "a b" */
static void put_words(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++)
        buf_putc(out, *text == '|' ? ' ' : *text);
}

/* Without the characters that are special to a shell. */
static void put_tame(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++)
        if (strchr("'\"[]:`$\\", *text) == NULL)
            buf_putc(out, *text);
}

static void put_names(struct buf *out)
{
    size_t i;

    for (i = 0; client_commands[i] != NULL; i++)
        buf_printf(out, "%s ", client_commands[i]->name);
    for (i = 0; i < OTHERS; i++)
        buf_printf(out, "%s ", others[i].name);
}

/* --- bash ---------------------------------------------------------------------------- */

static void bash_value(struct buf *out, const char *command, const struct opt *o)
{
    if (o->value == NULL)
        return;
    buf_printf(out, "    %s:%s", command, o->name);
    if (o->letter != 0)
        buf_printf(out, "|%s:-%c", command, o->letter);
    if (is_choice(o->value)) {
        buf_puts(out, ") words='");
        put_words(out, o->value);
        buf_puts(out, "' ;;\n");
    } else {
        buf_printf(out, ") words='%s' ;;\n", is_file(o->value) ? "@file" : "@none");
    }
}

static void bash_name(struct buf *out, const char *command, const struct opt *o)
{
    (void)command;
    buf_printf(out, "%s ", o->name);
    if (o->letter != 0)
        buf_printf(out, "-%c ", o->letter);
}

static void bash_command(struct buf *out, const struct command *c)
{
    buf_printf(out, "    %s) opts='", c->name);
    each_client_opt(out, c, bash_name);
    buf_puts(out, "--help'; operands='");
    if (command_takes(c, "PROCESS"))
        buf_puts(out, "@process");
    else if (command_takes(c, "COMMAND"))
        buf_puts(out, "@command");
    else if (command_takes(c, "SRC"))
        buf_puts(out, "@files");
    if (c->words != NULL) {
        buf_putc(out, ' ');
        put_words(out, c->words);
    }
    buf_puts(out, "' ;;\n");
}

static void write_bash(struct buf *out)
{
    size_t i;

    buf_puts(out,
             "# bash completion of holdfast; load it with: source <(holdfast completion bash)\n"
             "_holdfast() {\n"
             "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
             "  local cmd=${COMP_WORDS[1]} words='' opts='' operands=''\n"
             "  COMPREPLY=()\n"
             "  if ((COMP_CWORD == 1)); then\n    mapfile -t COMPREPLY < <(compgen -W '");
    put_names(out);
    buf_puts(out, "' -- \"$cur\")\n    return\n  fi\n  case $cmd:$prev in\n");
    for (i = 0; client_commands[i] != NULL; i++)
        each_client_opt(out, client_commands[i], bash_value);
    each_serve_opt(out, bash_value);
    buf_puts(out, "  esac\n  case $words in\n"
                  "    @file) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;;\n"
                  "    @none) return ;;\n"
                  "    ?*) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\"); return ;;\n"
                  "  esac\n  case $cmd in\n");
    for (i = 0; client_commands[i] != NULL; i++)
        bash_command(out, client_commands[i]);
    buf_puts(out, "    serve) opts='");
    each_serve_opt(out, bash_name);
    buf_puts(out,
             "--help' ;;\n  esac\n"
             "  if [[ $cur == -* ]]; then\n"
             "    mapfile -t COMPREPLY < <(compgen -W \"$opts\" -- \"$cur\")\n"
             "    return\n  fi\n"
             "  [[ $operands == *@command* ]] && mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
             "  [[ $operands == *@process* ]] && operands=\"${operands/@process/} $(" PROCESSES
             ")\"\n"
             "  operands=${operands/@command/}\n"
             "  [[ $operands == *@files* ]] && mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
             "  operands=${operands/@files/}\n"
             "  [[ -n ${operands// /} ]] && "
             "mapfile -t COMPREPLY < <(compgen -W \"$operands\" -- \"$cur\")\n"
             "  return 0\n}\ncomplete -F _holdfast holdfast\n");
}

/* --- zsh ------------------------------------------------------------------------------ */

static void zsh_opt(struct buf *out, const char *command, const struct opt *o)
{
    const char *marks[2] = {o->name, NULL};
    char letter[3] = {'-', o->letter, '\0'};

    (void)command;
    if (o->letter != 0)
        marks[1] = letter;
    for (int i = 0; i < 2 && marks[i] != NULL; i++) {
        buf_printf(out, " \\\n        '*%s[", marks[i]);
        put_tame(out, o->help);
        buf_putc(out, ']');
        if (o->value != NULL) {
            buf_puts(out, is_choice(o->value) ? ":value:("
                          : is_file(o->value) ? ":file:_files"
                                              : ":value:");
            if (is_choice(o->value)) {
                put_words(out, o->value);
                buf_putc(out, ')');
            }
        }
        buf_putc(out, '\'');
    }
}

static void zsh_command(struct buf *out, const struct command *c)
{
    buf_printf(out, "      %s) _arguments -S '--help[show the options]'", c->name);
    each_client_opt(out, c, zsh_opt);
    if (command_takes(c, "PROCESS"))
        buf_puts(out, " \\\n        '*:process:_holdfast_processes'");
    else if (command_takes(c, "COMMAND"))
        buf_puts(out, " \\\n        '*::command:_normal'");
    else if (command_takes(c, "SRC"))
        buf_puts(out, " \\\n        '*:file:_files'");
    else if (c->words != NULL) {
        buf_puts(out, " \\\n        '1:word:(");
        put_words(out, c->words);
        buf_puts(out, ")'");
    }
    buf_puts(out, " ;;\n");
}

static void zsh_name(struct buf *out, const char *name, const char *summary)
{
    buf_printf(out, "      '%s:", name);
    put_tame(out, summary);
    buf_puts(out, "'\n");
}

static void write_zsh(struct buf *out)
{
    size_t i;

    buf_puts(out, "#compdef holdfast\n"
                  "# zsh completion of holdfast; load it with: source <(holdfast completion zsh)\n"
                  "_holdfast_processes() {\n"
                  "  local -a found\n  found=(${(f)\"$(" PROCESSES ")\"})\n"
                  "  compadd -a found\n}\n"
                  "_holdfast() {\n  local -a commands\n  local line state\n"
                  "  _arguments -C '1:command:->command' '*::arg:->args'\n  case $state in\n"
                  "    command)\n      commands=(\n");
    for (i = 0; client_commands[i] != NULL; i++)
        zsh_name(out, client_commands[i]->name, client_commands[i]->summary);
    for (i = 0; i < OTHERS; i++)
        zsh_name(out, others[i].name, others[i].summary);
    buf_puts(out, "      )\n      _describe command commands ;;\n    args) case $line[1] in\n");
    for (i = 0; client_commands[i] != NULL; i++)
        zsh_command(out, client_commands[i]);
    buf_puts(out, "      serve) _arguments -S '--help[show the options]'");
    each_serve_opt(out, zsh_opt);
    buf_puts(out, " ;;\n    esac ;;\n  esac\n}\n"
                  "if [ \"$funcstack[1]\" = _holdfast ]; then _holdfast \"$@\"\n"
                  "else compdef _holdfast holdfast; fi\n");
}

/* --- fish ------------------------------------------------------------------------------- */

static void fish_opt(struct buf *out, const char *command, const struct opt *o)
{
    buf_printf(out, "complete -c holdfast -n '__fish_seen_subcommand_from %s' -l %s", command,
               o->name + 2);
    if (o->letter != 0)
        buf_printf(out, " -s %c", o->letter);
    if (o->value != NULL)
        buf_puts(out, is_file(o->value) ? " -rF" : " -x");
    if (is_choice(o->value)) {
        buf_puts(out, " -a '");
        put_words(out, o->value);
        buf_putc(out, '\'');
    }
    buf_puts(out, " -d '");
    put_tame(out, o->help);
    buf_puts(out, "'\n");
}

static void fish_command(struct buf *out, const struct command *c)
{
    buf_printf(out, "complete -c holdfast -n __fish_use_subcommand -a %s -d '", c->name);
    put_tame(out, c->summary);
    buf_puts(out, "'\n");
    if (command_takes(c, "PROCESS"))
        buf_printf(out,
                   "complete -c holdfast -n '__fish_seen_subcommand_from %s' -a "
                   "'(__holdfast_processes)'\n",
                   c->name);
    if (command_takes(c, "SRC"))
        buf_printf(out, "complete -c holdfast -n '__fish_seen_subcommand_from %s' -F\n", c->name);
    if (command_takes(c, "COMMAND"))
        buf_printf(out,
                   "complete -c holdfast -n '__fish_seen_subcommand_from %s' -a "
                   "'(__fish_complete_subcommand --fcs-skip=2)'\n",
                   c->name);
    if (c->words != NULL) {
        buf_printf(out, "complete -c holdfast -n '__fish_seen_subcommand_from %s' -a '", c->name);
        put_words(out, c->words);
        buf_puts(out, "'\n");
    }
    each_client_opt(out, c, fish_opt);
}

static void write_fish(struct buf *out)
{
    size_t i;

    buf_puts(out, "# fish completion of holdfast; load it with: holdfast completion fish | source\n"
                  "function __holdfast_processes\n  " PROCESSES "\nend\n"
                  "complete -c holdfast -f\n");
    for (i = 0; client_commands[i] != NULL; i++)
        fish_command(out, client_commands[i]);
    for (i = 0; i < OTHERS; i++)
        buf_printf(out, "complete -c holdfast -n __fish_use_subcommand -a %s -d '%s'\n",
                   others[i].name, others[i].summary);
    each_serve_opt(out, fish_opt);
}

/* ------------------------------------------------------------------------------------------ */

static int completion_main(struct client_call *call)
{
    static const struct {
        const char *shell;
        void (*write)(struct buf *out);
    } shells[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};
    struct buf out = {0};
    size_t i;

    for (i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(call->operands[0], shells[i].shell) == 0) {
            shells[i].write(&out);
            print_buf(&out);
            return CLI_OK;
        }
    return command_complain(call, CLI_USAGE, "'%s' is not bash, zsh or fish", call->operands[0]);
}

const struct command completion_command = {
    .name = "completion",
    .operands = "bash|zsh|fish",
    .summary = "print a completion script for a shell",
    .about = "bash:  source <(holdfast completion bash)\n"
             "zsh:   source <(holdfast completion zsh)\n"
             "fish:  holdfast completion fish | source\n",
    .words = "bash|zsh|fish",
    .run = completion_main,
};
