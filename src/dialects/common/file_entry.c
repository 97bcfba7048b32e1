/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_entry.c - what a file operation reports. Layer: dialects.
 */
#include "dialects/common/file_entry.h"

#include <string.h>

#include "base/clock.h"
#include "base/rfc3339.h"

#define LINE_BYTES_MAX (256 * 1024) /* two paths, each byte of them escaped */

static const struct json_field fields[] = {
    JSON_FIELD(STR, struct file_entry, name),
    JSON_FIELD(STR, struct file_entry, path),
    JSON_FIELD(STR, struct file_entry, path_base64),
    JSON_FIELD(STR, struct file_entry, type),
    JSON_FIELD(STR, struct file_entry, kind),
    JSON_FIELD(STR, struct file_entry, owner),
    JSON_FIELD(STR, struct file_entry, group),
    JSON_FIELD(STR, struct file_entry, target),
    JSON_FIELD(STR, struct file_entry, tag),
    JSON_FIELD(STR, struct file_entry, leads_to),
    JSON_FIELD(STR, struct file_entry, text),
    JSON_FIELD(INT, struct file_entry, size, .min = INT64_MIN, .max = INT64_MAX),
    JSON_FIELD(INT, struct file_entry, mode, .max = 07777),
    JSON_FIELD(INT, struct file_entry, uid, .max = UINT32_MAX),
    JSON_FIELD(INT, struct file_entry, gid, .max = UINT32_MAX),
    JSON_FIELD(INT, struct file_entry, modified_ms, .min = INT64_MIN, .max = INT64_MAX),
    JSON_FIELD(INT, struct file_entry, created_ms, .min = INT64_MIN, .max = INT64_MAX),
    JSON_FIELD(INT, struct file_entry, from, .max = INT64_MAX),
    JSON_FIELD(INT, struct file_entry, length, .max = INT64_MAX),
    JSON_FIELD(INT, struct file_entry, entries, .max = INT64_MAX),
    JSON_FIELD(INT, struct file_entry, bytes, .max = INT64_MAX),
    JSON_FIELD(INT, struct file_entry, skipped, .max = INT64_MAX),
    JSON_FIELD(INT, struct file_entry, line, .max = INT64_MAX),
    JSON_FIELD(INT, struct file_entry, replaced, .max = INT64_MAX),
    JSON_FIELD(INT, struct file_entry, offset, .max = INT64_MAX),
    JSON_FIELD(ARRAY, struct file_entry, spans),
    JSON_FIELD(OBJECT, struct file_entry, attributes),
    JSON_FIELD(BOOL, struct file_entry, ignored),
    JSON_FIELD(BOOL, struct file_entry, created),
    JSON_FIELD(BOOL, struct file_entry, partial),
    JSON_FIELD(BOOL, struct file_entry, beyond),
    JSON_FIELD(BOOL, struct file_entry, truncated),
};

bool file_entry_of(struct file_entry *e, json_t *tree)
{
    *e = (struct file_entry){.size = -1,
                             .mode = -1,
                             .uid = -1,
                             .gid = -1,
                             .modified_ms = -1,
                             .created_ms = -1,
                             .from = -1,
                             .length = -1,
                             .entries = -1,
                             .bytes = -1,
                             .skipped = -1,
                             .line = -1,
                             .replaced = -1,
                             .offset = -1};
    if (tree == NULL ||
        json_decode_known(tree, fields, sizeof fields / sizeof *fields, e, NULL) < 0)
        return false;
    e->tree = json_incref(tree);
    return true;
}

bool file_entry_decode(struct file_entry *e, const char *line, size_t len)
{
    json_auto_t *tree = json_parse(line, len, NULL);

    return file_entry_of(e, tree);
}

void file_entry_fini(struct file_entry *e)
{
    json_decref(e->tree);
    e->tree = NULL;
}

bool file_entry_is_directory(const struct file_entry *e)
{
    return e->type != NULL && strcmp(e->type, "dir") == 0;
}

void file_entry_time(struct json_out *o, const char *key, int64_t ms)
{
    char text[CLOCK_RFC3339_LEN + 1];

    ms = ms < RFC3339_MIN_MS ? RFC3339_MIN_MS : ms > RFC3339_MAX_MS ? RFC3339_MAX_MS : ms;
    clock_rfc3339(ms, text);
    json_kstr(o, key, text);
}

void file_entry_letters(char out[FILE_ENTRY_LETTERS], char first, int64_t mode)
{
    static const char letters[] = "rwxrwxrwx";

    out[0] = first;
    for (int i = 0; i < 9; i++)
        out[i + 1] = mode & (0400 >> i) ? letters[i] : '-';
    out[10] = '\0';
}

const char *file_lines_next(struct file_lines *l, const char **at, size_t *len, size_t *line_len)
{
    const char *from = *at, *end = *len > 0 ? memchr(from, '\n', *len) : NULL;
    size_t n = end != NULL ? (size_t)(end - from) : *len;

    if (l->held.len > 0 && buf_data(&l->held)[l->held.len - 1] == '\n')
        buf_clear(&l->held); /* the line that was returned before */
    if (l->held.len == 0 && end != NULL) {
        *line_len = n;
    } else {
        if (l->held.len + n > LINE_BYTES_MAX)
            n = LINE_BYTES_MAX - l->held.len; /* it is not ours, and will not parse */
        buf_put(&l->held, from, n);
        *line_len = l->held.len;
        if (end != NULL) {
            buf_putc(&l->held, '\n');
            from = buf_data(&l->held);
        }
        n = end != NULL ? (size_t)(end - *at) : *len;
    }
    *at += n + (end != NULL);
    *len -= n + (end != NULL);
    return end != NULL ? from : NULL;
}

void file_lines_fini(struct file_lines *l)
{
    buf_fini(&l->held);
}
