/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_tar.c - archives: however they are cut, the same files come out, and none leads out
 *
 * Checksums are put right first, or hardly anything would get past them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

/* Each block as if it were a header: those that are data come out the same in both runs. */
static void seal(char *bytes, size_t len)
{
    for (; len >= TAR_BLOCK; bytes += TAR_BLOCK, len -= TAR_BLOCK) {
        unsigned sum = 0;

        if (memcmp(bytes + 257, "ustar", 5) != 0)
            continue;
        memset(bytes + 148, ' ', 8);
        for (size_t i = 0; i < TAR_BLOCK; i++)
            sum += (unsigned char)bytes[i];
        snprintf(bytes + 148, 8, "%06o", sum);
    }
}

static void check_path(const char *path)
{
    check(strlen(path) < TAR_PATH_MAX && path[0] != '/' && strcmp(path, "..") != 0 &&
          strncmp(path, "../", 3) != 0 && strstr(path, "/../") == NULL &&
          strstr(path, "//") == NULL);
    check(strlen(path) < 3 || strcmp(path + strlen(path) - 3, "/..") != 0);
}

static void run(const char *bytes, size_t len, size_t piece, struct buf *out)
{
    static struct tar_in t;
    enum tar_event e = TAR_MORE;
    size_t at = 0, used;

    tar_init(&t);
    while (at < len && e != TAR_ERROR && e != TAR_DONE) {
        size_t n = len - at < piece ? len - at : piece;

        e = tar_feed(&t, bytes + at, n, &used);
        check(used <= n && (used > 0 || e != TAR_MORE));
        at += used;
        if (e == TAR_DATA) {
            check(t.data_len > 0 && t.data_len <= n);
            buf_put(out, t.data, t.data_len);
        } else if (e != TAR_MORE) {
            buf_putc(out, (char)('0' + e));
        }
        if (e == TAR_ENTRY) {
            check_path(t.path);
            check((t.mode & ~07777u) == 0 && t.size <= TAR_FILE_BYTES);
            buf_printf(out, "%s|%u|%llu|", t.path, t.mode, (unsigned long long)t.size);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf input = {0}, whole = {0}, cut = {0};

    buf_put(&input, data, size);
    seal(buf_data(&input), size);
    run(buf_data(&input), size, size + 1, &whole);
    run(buf_data(&input), size, 7, &cut);
    check(whole.len == cut.len &&
          (whole.len == 0 || memcmp(buf_data(&whole), buf_data(&cut), whole.len) == 0));
    buf_fini(&input);
    buf_fini(&whole);
    buf_fini(&cut);
    return 0;
}
