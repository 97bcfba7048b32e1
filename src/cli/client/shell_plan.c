/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell_plan.c - finds the real shell and describes its command. Layer: cli.
 */
#include "cli/client/shell_plan.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"

#define USUAL_PATH "/usr/local/bin:/usr/bin:/bin"

/* --- names ------------------------------------------------------------------------------- */

/* "": of no shell in particular. */
static const struct {
    const char *name, *shell;
} names[] = {
    {"holdfast-sh", ""},     {"holdfast-bash", "bash"},
    {"holdfast-zsh", "zsh"}, {"bash", "bash"},
    {"zsh", "zsh"},          {"sh", "sh"},
};

/* The shell of a name; NULL: the name is not in the table. */
static const char *shell_of(const char *argv0)
{
    const char *slash = strrchr(argv0, '/');
    const char *name = slash != NULL ? slash + 1 : argv0;
    size_t i;

    name += name[0] == '-';
    for (i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i].name) == 0)
            return names[i].shell;
    return NULL;
}

bool shell_plan_is_name(const char *argv0)
{
    return shell_of(argv0) != NULL;
}

bool shell_plan_is_login(const char *called_as)
{
    return called_as != NULL && called_as[0] == '-';
}

/* --- the real shell ---------------------------------------------------------------------- */

/* Executable, and not this binary by another name, which would run itself for ever. */
static bool is_real(const char *path)
{
    struct stat st, self;

    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || access(path, X_OK) < 0)
        return false;
    return stat("/proc/self/exe", &self) < 0 || st.st_dev != self.st_dev ||
           st.st_ino != self.st_ino;
}

static char *search(const char *name, const char *path)
{
    char file[PATH_MAX];

    while (path != NULL && *path != '\0') {
        int len = (int)strcspn(path, ":");
        int n = snprintf(file, sizeof file, "%.*s/%s", len, path, name);

        if (len > 0 && n < (int)sizeof file && is_real(file))
            return hf_xstrdup(file);
        path += len + (path[len] == ':');
    }
    return NULL;
}

/* NULL: not found. A name with a slash is a path. */
static char *find(const char *name)
{
    char *found;

    if (strchr(name, '/') != NULL)
        return is_real(name) ? hf_xstrdup(name) : NULL;
    found = search(name, getenv("PATH"));
    return found != NULL ? found : search(name, USUAL_PATH);
}

static bool is_self(const char *name)
{
    return strchr(name, '/') != NULL && access(name, X_OK) == 0 && !is_real(name);
}

char *shell_plan_find(const char *called_as)
{
    const char *wanted = called_as != NULL ? shell_of(called_as) : "";
    char *found;

    if (wanted == NULL || wanted[0] == '\0')
        wanted = getenv("HOLDFAST_SHELL");
    if (wanted != NULL && wanted[0] != '\0') {
        found = find(wanted);
        if (found != NULL)
            return found;
        if (!is_self(wanted))
            return hf_xstrdup(wanted);
    }
    found = find("bash");
    return found != NULL ? found : hf_xstrdup("/bin/sh");
}

/* --- the label ---------------------------------------------------------------------------- */

/* Do the options take the next word as a value? */
static bool takes_word(const char *option)
{
    size_t len = strlen(option);

    if (option[0] == '-' && option[1] == '-')
        return strcmp(option, "--rcfile") == 0 || strcmp(option, "--init-file") == 0;
    return option[len - 1] == 'o' || option[len - 1] == 'O';
}

/* The index of the first word that is not an option; *command: a -c was among them. */
static int first_word(int argc, char *const *argv, bool *command)
{
    int i;

    *command = false;
    for (i = 0; i < argc && (argv[i][0] == '-' || argv[i][0] == '+') && argv[i][1] != '\0'; i++) {
        if (strcmp(argv[i], "--") == 0)
            return i + 1;
        if (argv[i][0] == '-' && argv[i][1] != '-' && strchr(argv[i], 'c') != NULL)
            *command = true;
        i += takes_word(argv[i]);
    }
    return i;
}

/* Runs of spaces and control characters become one space. */
static void put_words(struct buf *out, const char *text)
{
    for (; *text != '\0' && out->len < SHELL_LABEL_BYTES; text++) {
        bool space = (unsigned char)*text <= ' ' || *text == 127;

        if (!space)
            buf_putc(out, *text);
        else if (out->len > 0 && buf_data(out)[out->len - 1] != ' ')
            buf_putc(out, ' ');
    }
}

/* The last character may have been cut; bytes that are no UTF-8 anywhere else become '?'. */
static void put_sound(struct buf *out, const char *text, size_t len)
{
    size_t cut = 0;

    while (len > 0 && text[len - 1] == ' ')
        len--;
    while (cut < 4 && cut < len && !utf8_is_valid(text, len - cut))
        cut++;
    if (utf8_is_valid(text, len - cut)) {
        buf_put(out, text, len - cut);
        return;
    }
    for (size_t i = 0; i < len; i++)
        buf_putc(out, (unsigned char)text[i] < 128 ? text[i] : '?');
}

void shell_plan_label(int argc, char *const *argv, struct buf *out)
{
    hf_autobuf struct buf words = {0};
    bool command;
    int i = first_word(argc, argv, &command);

    if (command && i < argc) {
        put_words(&words, argv[i]);
    } else {
        put_words(&words, "sh");
        for (; i < argc; i++) {
            put_words(&words, " ");
            put_words(&words, argv[i]);
        }
    }
    put_sound(out, buf_data(&words), words.len);
}
