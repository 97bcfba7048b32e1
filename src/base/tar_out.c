/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_out.c - writes the headers of a tar archive. Layer: base.
 */
#include "base/tar_out.h"

#include <stdio.h>
#include <string.h>

#define NAME_BYTES 100
#define OCTAL_SIZE_MAX 077777777777ULL
#define OCTAL_ID_MAX 07777777U

static const char zeros[TAR_BLOCK];

size_t tar_out_padding(uint64_t size)
{
    return (size_t)((TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}

static void put_octal(char *field, size_t width, uint64_t v)
{
    snprintf(field, width, "%0*llo", (int)width - 1, (unsigned long long)v);
}

static void put_text(char *field, size_t width, const char *text)
{
    size_t len = strlen(text);

    memcpy(field, text, len < width ? len : width);
}

static void put_block(struct buf *out, const struct tar_out_entry *e, char type)
{
    bool old = e->mtime_s < 0;
    char b[TAR_BLOCK] = {0};
    unsigned sum = 0;

    put_text(b, NAME_BYTES, e->path);
    put_octal(b + 100, 8, e->mode & 07777);
    put_octal(b + 108, 8, e->uid <= OCTAL_ID_MAX ? e->uid : 0);
    put_octal(b + 116, 8, e->gid <= OCTAL_ID_MAX ? e->gid : 0);
    put_octal(b + 124, 12, e->size <= OCTAL_SIZE_MAX ? e->size : 0);
    put_octal(b + 136, 12, old || e->mtime_s > (int64_t)OCTAL_SIZE_MAX ? 0 : (uint64_t)e->mtime_s);
    b[156] = type;
    put_text(b + 157, NAME_BYTES, e->link != NULL ? e->link : "");
    memcpy(b + 257, "ustar\00000", 8);
    put_text(b + 265, 31, e->owner != NULL ? e->owner : "");
    put_text(b + 297, 31, e->group != NULL ? e->group : "");
    memset(b + 148, ' ', 8);
    for (size_t i = 0; i < sizeof b; i++)
        sum += (unsigned char)b[i];
    snprintf(b + 148, 8, "%06o", sum);
    buf_put(out, b, sizeof b);
}

/* "LENGTH KEY=VALUE\n", where the length counts its own digits. */
static void put_record(struct buf *out, const char *key, const char *value)
{
    size_t rest = strlen(key) + strlen(value) + 3, len = rest + 1;

    while (len != rest + (size_t)snprintf(NULL, 0, "%zu", len))
        len = rest + (size_t)snprintf(NULL, 0, "%zu", len);
    buf_printf(out, "%zu %s=%s\n", len, key, value);
}

/* What is no more than `max` is in the header itself. */
static void put_number(struct buf *out, const char *key, uint64_t n, uint64_t max)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    if (n > max)
        put_record(out, key, digits);
}

static char type_of(enum tar_kind kind)
{
    return kind == TAR_DIR ? '5' : kind == TAR_SYMLINK ? '2' : '0';
}

void tar_out_header(struct buf *out, const struct tar_out_entry *e)
{
    struct buf records = {0};

    if (strlen(e->path) > NAME_BYTES)
        put_record(&records, "path", e->path);
    if (e->link != NULL && strlen(e->link) > NAME_BYTES)
        put_record(&records, "linkpath", e->link);
    put_number(&records, "size", e->size, OCTAL_SIZE_MAX);
    put_number(&records, "uid", e->uid, OCTAL_ID_MAX);
    put_number(&records, "gid", e->gid, OCTAL_ID_MAX);
    if (records.len > 0) {
        const struct tar_out_entry extended = {
            .path = "PaxHeader", .size = records.len, .mode = 0644};

        put_block(out, &extended, 'x');
        buf_put(out, buf_data(&records), records.len);
        buf_put(out, zeros, tar_out_padding(records.len));
    }
    put_block(out, e, type_of(e->kind));
    buf_fini(&records);
}

void tar_out_end(struct buf *out)
{
    buf_put(out, zeros, sizeof zeros);
    buf_put(out, zeros, sizeof zeros);
}
