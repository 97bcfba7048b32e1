/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_shells.c - the available shells, and the default one. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "dialects/opencode/opencode.h"

#define SHELLS_FILE "/etc/shells"
#define SHELLS_FILE_BYTES 65536

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* Shells that accept -l and whose users expect a login shell. */
bool oc_is_shell(const char *path)
{
    static const char *const names[] = {"bash", "dash", "fish", "ksh", "sh", "zsh"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(base_name(path), names[i]) == 0)
            return true;
    return false;
}

bool oc_is_fish(const char *path)
{
    return strcmp(base_name(path), "fish") == 0;
}

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool oc_find_program(const char *name, char out[PATH_MAX])
{
    const char *path = getenv("PATH");

    if (name[0] == '\0' || strchr(name, '/') != NULL) {
        snprintf(out, PATH_MAX, "%s", name);
        return name[0] == '/' && is_program(name);
    }
    for (path = path != NULL ? path : "/usr/bin:/bin"; *path != '\0';) {
        size_t len = strcspn(path, ":");

        if (len > 0 && len + strlen(name) + 2 < PATH_MAX) {
            snprintf(out, PATH_MAX, "%.*s/%s", (int)len, path, name);
            if (is_program(out))
                return true;
        }
        path += len + (path[len] == ':');
    }
    return false;
}

const char *oc_shell(char out[PATH_MAX])
{
    const char *shell = getenv("SHELL");

    if ((shell != NULL && oc_find_program(shell, out)) || oc_find_program("bash", out))
        return out;
    snprintf(out, PATH_MAX, "/bin/sh");
    return out;
}

static void write_shell(struct json_out *o, const char *path)
{
    json_open(o, '{');
    json_kstr(o, "path", path);
    json_kstr(o, "name", base_name(path));
    json_kbool(o, "acceptable", !oc_is_fish(path) && strcmp(base_name(path), "nu") != 0);
    json_close(o, '}');
}

void oc_shells(struct http_request *rq)
{
    struct json_out o = oc_reply_open(rq);
    struct buf text = {0};
    char *line, *rest;

    if (io_read_file(SHELLS_FILE, SHELLS_FILE_BYTES, &text) < 0)
        buf_puts(&text, "/bin/sh\n");
    buf_putc(&text, '\0');
    json_open(&o, '[');
    for (line = strtok_r(buf_data(&text), "\r\n", &rest); line != NULL;
         line = strtok_r(NULL, "\r\n", &rest))
        if (line[0] == '/' && is_program(line))
            write_shell(&o, line);
    json_close(&o, ']');
    buf_fini(&text);
    oc_send(rq, &o);
}
