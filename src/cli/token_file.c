/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_file.c - reads, finds or generates the token file. Layer: cli.
 */
#include "cli/token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"

#define TOKEN_RANDOM_BYTES 32

int token_read(const char *path, struct buf *out, struct hf_error *err)
{
    struct stat st;
    int rc = io_read_file(path, TOKEN_FILE_BYTES_MAX, out);

    if (rc < 0)
        return hf_fail(err, HF_E_bad_request, "cannot read the token file %s: %s", path,
                       strerror(-rc));
    if (stat(path, &st) == 0 && (st.st_mode & 077) != 0)
        log_warn("%s is readable by other users; run chmod 600 on it", path);
    return 0;
}

bool token_take_env(const char *name, struct buf *out)
{
    char *value = getenv(name);

    if (value == NULL || value[0] == '\0')
        return false;
    buf_puts(out, value);
    /* /proc/PID/environ shows the memory that the process was started with. */
    hf_wipe(value, strlen(value));
    unsetenv(name);
    return true;
}

static void state_dir_name(char *out, size_t size)
{
    const char *set = getenv("HOLDFAST_STATE_DIR"), *xdg = getenv("XDG_STATE_HOME"),
               *home = getenv("HOME");

    if (set != NULL)
        snprintf(out, size, "%s", set);
    else if (geteuid() == 0)
        snprintf(out, size, "/var/lib/holdfast");
    else if (xdg != NULL)
        snprintf(out, size, "%s/holdfast", xdg);
    else
        snprintf(out, size, "%s/.local/state/holdfast", home != NULL ? home : "");
}

bool token_default_path(char *out, size_t size)
{
    char dir[480];

    state_dir_name(dir, sizeof dir);
    snprintf(out, size, "%s/token", dir);
    return access(out, R_OK) == 0;
}

/* The directory of the generated token; created if necessary. */
static bool state_dir(char *out, size_t size)
{
    char *slash;

    state_dir_name(out, size);
    for (slash = strchr(out + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(out, 0755);
        *slash = '/';
    }
    return mkdir(out, 0700) == 0 || errno == EEXIST;
}

void token_make(struct buf *out)
{
    uint8_t raw[TOKEN_RANDOM_BYTES];
    char text[2 * TOKEN_RANDOM_BYTES + 1];

    crypto_random(raw, sizeof raw);
    hex_encode(text, raw, sizeof raw);
    buf_puts(out, text);
    buf_putc(out, '\n');
    hf_wipe(text, sizeof text);
    hf_wipe(raw, sizeof raw);
}

static int make_file(const char *path, struct hf_error *err)
{
    struct buf text = {0};
    hf_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int rc;

    if (fd < 0)
        return errno == EEXIST
                   ? 0
                   : hf_fail(
                         err, HF_E_bad_request,
                         "cannot create the token file %s: %s; use --token-file or HOLDFAST_TOKEN",
                         path, strerror(errno));
    token_make(&text);
    rc = io_write_all(fd, buf_data(&text), text.len);
    buf_wipe(&text);
    return rc < 0 ? hf_fail(err, HF_E_bad_request, "cannot write the token file %s: %s", path,
                            strerror(-rc))
                  : 0;
}

/* Absolute, so that it names the same file from any directory. Symbolic links are not resolved,
 * since they may change later. */
static void absolute(const char *file, char *path)
{
    char cwd[PATH_MAX];

    if (file[0] == '/' || getcwd(cwd, sizeof cwd) == NULL ||
        snprintf(path, PATH_MAX, "%s/%s", cwd, file) >= PATH_MAX)
        snprintf(path, PATH_MAX, "%s", file);
}

int token_load(const char *token_file, struct buf *out, char *path, struct hf_error *err)
{
    char dir[480];
    int rc;

    path[0] = '\0';
    if (token_file != NULL) {
        absolute(token_file, path);
        return token_read(path, out, err);
    }
    if (token_take_env(TOKEN_ENV, out))
        return 0;
    if (!state_dir(dir, sizeof dir))
        return hf_fail(err, HF_E_bad_request,
                       "cannot create %s for the token: %s; use --token-file or HOLDFAST_TOKEN",
                       dir, strerror(errno));
    snprintf(path, PATH_MAX, "%s/token", dir);
    rc = make_file(path, err);
    if (rc == 0)
        rc = token_read(path, out, err);
    if (rc == 0)
        log_info("the token is in %s", path);
    return rc;
}

void token_find(const char *token_file, const struct buf *tokens, char *path)
{
    struct buf text = {0};

    if (token_file != NULL) {
        absolute(token_file, path);
        return;
    }
    if (!token_default_path(path, PATH_MAX) ||
        io_read_file(path, TOKEN_FILE_BYTES_MAX, &text) < 0 || text.len != tokens->len ||
        memcmp(buf_data(&text), buf_data(tokens), text.len) != 0)
        path[0] = '\0';
    buf_wipe(&text);
}
