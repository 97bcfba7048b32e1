/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar.c - reads a tar archive as a stream. Layer: base.
 */
#include "base/tar.h"

#include <string.h>

#include "base/text.h"

enum state { ST_HEADER, ST_DATA, ST_PADDING, ST_EXTENDED, ST_DONE, ST_ERROR };

/* Offsets of the fields of a header. */
enum {
    AT_NAME = 0,
    AT_MODE = 100,
    AT_UID = 108,
    AT_GID = 116,
    AT_SIZE = 124,
    AT_MTIME = 136,
    AT_SUM = 148,
    AT_TYPE = 156,
    AT_LINK = 157,
    AT_MAGIC = 257,
    AT_PREFIX = 345,
};
#define NAME_LEN 100
#define ID_MAX (UINT32_MAX - 1) /* one more means "unchanged" to the kernel */
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

/* The same; GNU writes what does not fit in octal as a big-endian number with the top bit set. */
static bool large_number(const char *field, size_t len, uint64_t *out)
{
    uint64_t v = 0;

    if (((unsigned char)field[0] & 0x80) == 0)
        return number(field, len, out);
    if ((unsigned char)field[0] != 0x80)
        return false; /* negative, or far too large */
    for (size_t i = 1; i < len; i++) {
        if (v >> 55 != 0)
            return false;
        v = v << 8 | (unsigned char)field[i];
    }
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

static bool link_set(struct tar_in *t, const char *text, size_t len)
{
    if (len >= sizeof t->link || memchr(text, '\0', len) != NULL)
        return false;
    memcpy(t->link, text, len);
    t->link[len] = '\0';
    return true;
}

/* "NAME=DIGITS", of which `name` has the "=", too. False: not a number, or more than max. */
static bool pax_number(const char *name, uint64_t max, const char *text, size_t len, uint64_t *out)
{
    size_t n = strlen(name);
    char digits[24];

    if (len - n >= sizeof digits)
        return false;
    memcpy(digits, text + n, len - n);
    digits[len - n] = '\0';
    return text_to_u64(digits, max, out);
}

static bool pax_is(const char *name, const char *text, size_t len)
{
    size_t n = strlen(name);

    return len > n && memcmp(text, name, n) == 0;
}

/* "path=VALUE", "linkpath=VALUE", "size=VALUE", "uid=VALUE" or "gid=VALUE"; others are ignored. */
static bool pax_record(struct tar_in *t, const char *text, size_t len)
{
    size_t path_len = 0;

    if (len > 5 && memcmp(text, "path=", 5) == 0) {
        t->named = true;
        t->path[0] = '\0';
        return path_append(t, &path_len, text + 5, len - 5);
    }
    if (len > 9 && memcmp(text, "linkpath=", 9) == 0) {
        t->linked = true;
        return link_set(t, text + 9, len - 9);
    }
    if (pax_is("size=", text, len)) {
        t->sized = true;
        return pax_number("size=", TAR_FILE_BYTES, text, len, &t->pax_size);
    }
    if (pax_is("uid=", text, len)) {
        t->has_uid = true;
        return pax_number("uid=", ID_MAX, text, len, &t->pax_uid);
    }
    if (pax_is("gid=", text, len)) {
        t->has_gid = true;
        return pax_number("gid=", ID_MAX, text, len, &t->pax_gid);
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

/* GNU's way: the whole content is the name of the next entry, or what it links to. */
static bool long_parse(struct tar_in *t)
{
    size_t len = strnlen(t->pax, t->have), path_len = 0;

    if (t->long_type == 'K') {
        t->linked = true;
        return link_set(t, t->pax, len);
    }
    t->named = true;
    t->path[0] = '\0';
    return path_append(t, &path_len, t->pax, len);
}

/* --- headers ----------------------------------------------------------------------------- */

static void pad_behind(struct tar_in *t, uint64_t size)
{
    t->left = size;
    t->padding = (unsigned)((TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}

static enum tar_kind kind_of(char type)
{
    switch (type) {
    case '0':
    case '7': /* contiguous */
    case '\0': return TAR_FILE;
    case '1': return TAR_HARDLINK;
    case '2': return TAR_SYMLINK;
    case '5': return TAR_DIR;
    default: return TAR_SPECIAL;
    }
}

static void entry_fini(struct tar_in *t)
{
    t->named = t->linked = t->sized = t->has_uid = t->has_gid = false;
}

/* False: not a number, or no system has it. */
static bool owner_of(struct tar_in *t)
{
    uint64_t uid = t->pax_uid, gid = t->pax_gid;

    if ((!t->has_uid && !large_number(t->block + AT_UID, 8, &uid)) ||
        (!t->has_gid && !large_number(t->block + AT_GID, 8, &gid)) || uid > ID_MAX || gid > ID_MAX)
        return false;
    t->uid = (uint32_t)uid;
    t->gid = (uint32_t)gid;
    return true;
}

static enum tar_event entry_begin(struct tar_in *t, char type, uint64_t size)
{
    uint64_t mode, mtime;

    if (!t->named && !path_of_header(t))
        return fail(t, "a path in the archive leads outside the target directory or is too long");
    if (!number(t->block + AT_MODE, 8, &mode) || !large_number(t->block + AT_MTIME, 12, &mtime) ||
        !owner_of(t) ||
        (!t->linked && !link_set(t, t->block + AT_LINK, strnlen(t->block + AT_LINK, NAME_LEN))))
        return fail(t, "an archive header is damaged");
    t->mode = (unsigned)(mode & 07777);
    t->mtime_s = (int64_t)mtime;
    t->kind = kind_of(type);
    size = t->sized ? t->pax_size : size;
    t->size = t->kind == TAR_FILE ? size : 0;
    entry_fini(t);
    if (t->kind != TAR_DIR && t->path[0] == '\0')
        return fail(t, "a file in the archive has no name");
    pad_behind(t, t->size);
    t->state = t->kind == TAR_FILE ? ST_DATA : ST_HEADER;
    if (t->kind == TAR_SPECIAL && size > 0) { /* of a kind that we do not know */
        pad_behind(t, size);
        t->left += t->padding;
        t->state = ST_PADDING;
    }
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
    if (!sum_fits(t->block) || !large_number(t->block + AT_SIZE, 12, &size))
        return fail(t, "an archive header is damaged");
    if (size > TAR_FILE_BYTES)
        return fail(t, "a file in the archive is too large");
    if (strchr("xgLK", type) == NULL || type == '\0')
        return entry_begin(t, type, size);
    if (size > TAR_PAX_BYTES)
        return fail(t, "an extended archive header is too large");
    pad_behind(t, size);
    t->long_type = type;
    t->state = type != 'g' ? ST_EXTENDED : ST_PADDING;
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

static enum tar_event feed_extended(struct tar_in *t, const char *bytes, size_t len, size_t *used)
{
    size_t n = least(t->left, len);

    memcpy(t->pax + t->have, bytes, n);
    t->have += n;
    t->left -= n;
    *used += n;
    if (t->left > 0)
        return TAR_MORE;
    if (!(t->long_type == 'x' ? pax_parse(t) : long_parse(t)))
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
        case ST_EXTENDED: e = feed_extended(t, at, left, used); break;
        case ST_DONE: *used = len; return TAR_DONE;
        default: *used = len; return TAR_ERROR;
        }
    }
    if (e == TAR_MORE && t->state == ST_DONE)
        return TAR_DONE;
    return e;
}
