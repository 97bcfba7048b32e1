/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar.c - reads a tar archive as a stream. Layer: base.
 */
#include "base/tar.h"

#include <string.h>

#include "base/text.h"

enum state { ST_HEADER, ST_DATA, ST_PADDING, ST_PAX, ST_DONE, ST_ERROR };

/* Offsets of the fields of a header. */
enum {
    AT_NAME = 0,
    AT_MODE = 100,
    AT_SIZE = 124,
    AT_SUM = 148,
    AT_TYPE = 156,
    AT_MAGIC = 257,
    AT_PREFIX = 345,
};
#define NAME_LEN 100
#define PREFIX_LEN 155

void tar_init(struct tar_in *t)
{
    memset(t, 0, sizeof *t);
}

static enum tar_event fail(struct tar_in *t, const char *why)
{
    t->state = ST_ERROR;
    t->wrong = why;
    return TAR_ERROR;
}

/* --- fields ------------------------------------------------------------------------------- */

/* Octal digits, with leading blanks and trailing blanks or NUL. */
static bool number(const char *field, size_t len, uint64_t *out)
{
    size_t i = 0;
    uint64_t v = 0;

    while (i < len && field[i] == ' ')
        i++;
    for (; i < len && field[i] >= '0' && field[i] <= '7'; i++) {
        if (v >> 60 != 0)
            return false;
        v = v * 8 + (uint64_t)(field[i] - '0');
    }
    for (; i < len; i++)
        if (field[i] != ' ' && field[i] != '\0')
            return false;
    *out = v;
    return true;
}

static bool sum_fits(const char *block)
{
    uint64_t want, sum = 0;

    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += i >= AT_SUM && i < AT_SUM + 8 ? ' ' : (unsigned char)block[i];
    return number(block + AT_SUM, 8, &want) && want == sum;
}

static bool is_zero(const char *block)
{
    for (size_t i = 0; i < TAR_BLOCK; i++)
        if (block[i] != '\0')
            return false;
    return true;
}

/* --- paths ---------------------------------------------------------------------------------- */

/* Appends one component; false: it is "..", or the path is too long. */
static bool path_add(struct tar_in *t, size_t *len, const char *part, size_t n)
{
    if (n == 0 || (n == 1 && part[0] == '.'))
        return true;
    if ((n == 2 && part[0] == '.' && part[1] == '.') || memchr(part, '\0', n) != NULL ||
        *len + n + 2 > TAR_PATH_MAX)
        return false;
    if (*len > 0)
        t->path[(*len)++] = '/';
    memcpy(t->path + *len, part, n);
    *len += n;
    return true;
}

/* Component by component, so that "/a//./b/" is "a/b". */
static bool path_append(struct tar_in *t, size_t *len, const char *text, size_t n)
{
    size_t at = 0;

    while (at < n) {
        const char *slash = memchr(text + at, '/', n - at);
        size_t part = slash != NULL ? (size_t)(slash - text) - at : n - at;

        if (!path_add(t, len, text + at, part))
            return false;
        at += part + 1;
    }
    t->path[*len] = '\0';
    return true;
}

static bool path_of_header(struct tar_in *t)
{
    const char *b = t->block;
    size_t len = 0;

    t->path[0] = '\0';
    if (memcmp(b + AT_MAGIC, "ustar", 5) == 0 &&
        !path_append(t, &len, b + AT_PREFIX, strnlen(b + AT_PREFIX, PREFIX_LEN)))
        return false;
    return path_append(t, &len, b + AT_NAME, strnlen(b + AT_NAME, NAME_LEN));
}

/* --- extended headers -------------------------------------------------------------------- */

/* "path=VALUE" or "size=VALUE"; others are ignored. */
static bool pax_record(struct tar_in *t, const char *text, size_t len)
{
    size_t path_len = 0;
    char digits[24];

    if (len > 5 && memcmp(text, "path=", 5) == 0) {
        t->named = true;
        t->path[0] = '\0';
        return path_append(t, &path_len, text + 5, len - 5);
    }
    if (len > 5 && memcmp(text, "size=", 5) == 0) {
        if (len - 5 >= sizeof digits)
            return false;
        memcpy(digits, text + 5, len - 5);
        digits[len - 5] = '\0';
        t->sized = true;
        return text_to_u64(digits, TAR_FILE_BYTES, &t->pax_size);
    }
    return true;
}

/* Records are "LENGTH KEY=VALUE\n", and the length counts the whole record. */
static bool pax_parse(struct tar_in *t)
{
    size_t at = 0;

    while (at < t->have) {
        size_t n = 0, i = at;

        while (i < t->have && i - at < 6 && t->pax[i] >= '0' && t->pax[i] <= '9')
            n = n * 10 + (size_t)(t->pax[i++] - '0');
        if (i == at || i >= t->have || t->pax[i] != ' ' || n > t->have - at || n < i - at + 2 ||
            t->pax[at + n - 1] != '\n')
            return false;
        i++;
        if (!pax_record(t, t->pax + i, at + n - 1 - i))
            return false;
        at += n;
    }
    return true;
}

/* --- headers ----------------------------------------------------------------------------- */

static void pad_behind(struct tar_in *t, uint64_t size)
{
    t->left = size;
    t->padding = (unsigned)((TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}

static enum tar_event entry_begin(struct tar_in *t, char type, uint64_t size)
{
    uint64_t mode;

    if (!t->named && !path_of_header(t))
        return fail(t, "a path in the archive leads outside the target directory or is too long");
    if (!number(t->block + AT_MODE, 8, &mode))
        return fail(t, "an archive header is damaged");
    t->mode = (unsigned)(mode & 0777);
    t->is_dir = type == '5';
    t->size = t->is_dir ? 0 : t->sized ? t->pax_size : size;
    t->named = t->sized = false;
    if (!t->is_dir && t->path[0] == '\0')
        return fail(t, "a file in the archive has no name");
    pad_behind(t, t->size);
    t->state = t->is_dir ? ST_HEADER : ST_DATA;
    return TAR_ENTRY;
}

/* TAR_MORE: there is nothing to report. */
static enum tar_event header(struct tar_in *t)
{
    char type = t->block[AT_TYPE];
    uint64_t size;

    t->have = 0;
    if (is_zero(t->block)) {
        t->state = ++t->zeros == 2 ? ST_DONE : ST_HEADER;
        return TAR_MORE;
    }
    t->zeros = 0;
    if (!sum_fits(t->block) || !number(t->block + AT_SIZE, 12, &size))
        return fail(t, "an archive header is damaged");
    if (size > TAR_FILE_BYTES)
        return fail(t, "a file in the archive is too large");
    if (type == '0' || type == '\0' || type == '5')
        return entry_begin(t, type, size);
    if (type != 'x' && type != 'g')
        return fail(t, "the archive contains an entry that is neither a file nor a directory");
    if (size > TAR_PAX_BYTES)
        return fail(t, "an extended archive header is too large");
    pad_behind(t, size);
    t->state = type == 'x' ? ST_PAX : ST_PADDING;
    if (type == 'g') /* for the whole archive: nothing that we use */
        t->left += t->padding;
    return TAR_MORE;
}

/* --- bytes ------------------------------------------------------------------------------- */

static size_t least(uint64_t a, size_t b)
{
    return a < b ? (size_t)a : b;
}

static enum tar_event feed_header(struct tar_in *t, const char *bytes, size_t len, size_t *used)
{
    size_t n = least(TAR_BLOCK - t->have, len);

    memcpy(t->block + t->have, bytes, n);
    t->have += n;
    *used += n;
    return t->have < TAR_BLOCK ? TAR_MORE : header(t);
}

static enum tar_event feed_data(struct tar_in *t, const char *bytes, size_t len, size_t *used)
{
    size_t n = least(t->left, len);

    if (t->left == 0) {
        t->left = t->padding;
        t->state = ST_PADDING;
        return TAR_END;
    }
    t->data = bytes;
    t->data_len = n;
    t->left -= n;
    *used += n;
    return n > 0 ? TAR_DATA : TAR_MORE;
}

static enum tar_event feed_padding(struct tar_in *t, size_t len, size_t *used)
{
    size_t n = least(t->left, len);

    t->left -= n;
    *used += n;
    if (t->left == 0)
        t->state = ST_HEADER;
    return TAR_MORE;
}

static enum tar_event feed_pax(struct tar_in *t, const char *bytes, size_t len, size_t *used)
{
    size_t n = least(t->left, len);

    memcpy(t->pax + t->have, bytes, n);
    t->have += n;
    t->left -= n;
    *used += n;
    if (t->left > 0)
        return TAR_MORE;
    if (!pax_parse(t))
        return fail(t,
                    "an extended archive header is damaged or leads outside the target directory");
    t->have = 0;
    t->left = t->padding;
    t->state = ST_PADDING;
    return TAR_MORE;
}

enum tar_event tar_feed(struct tar_in *t, const char *bytes, size_t len, size_t *used)
{
    enum tar_event e = TAR_MORE;

    *used = 0;
    while (e == TAR_MORE && (*used < len || (t->state == ST_DATA && t->left == 0))) {
        const char *at = bytes + *used;
        size_t left = len - *used;

        switch (t->state) {
        case ST_HEADER: e = feed_header(t, at, left, used); break;
        case ST_DATA: e = feed_data(t, at, left, used); break;
        case ST_PADDING: e = feed_padding(t, left, used); break;
        case ST_PAX: e = feed_pax(t, at, left, used); break;
        case ST_DONE: *used = len; return TAR_DONE;
        default: *used = len; return TAR_ERROR;
        }
    }
    if (e == TAR_MORE && t->state == ST_DONE)
        return TAR_DONE;
    return e;
}
