/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multipart.c - a push parser for multipart/form-data. Layer: dialects.
 */
#include "dialects/common/multipart.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The preamble before the first boundary is skipped as if it were a part's data. */
enum { IN_PREAMBLE, IN_PART, AFTER_BOUNDARY, IN_HEAD, AT_END };

/* --- headers ------------------------------------------------------------------------------ */

/* A parameter's value, quoted or not: form-data; name="a\"b". False: missing, or too long. */
static bool parameter(const char *text, const char *name, char *out, size_t size)
{
    size_t len = strlen(name), n = 0;

    for (const char *at = text; (at = strcasestr(at, name)) != NULL; at += len) {
        const char *v = at + len;
        bool quoted;

        if (at == text || (at[-1] != ';' && at[-1] != ' ') || *v != '=')
            continue;
        quoted = *++v == '"';
        for (v += quoted; *v != '\0' && *v != (quoted ? '"' : ';'); v++) {
            if (quoted && *v == '\\' && (v[1] == '"' || v[1] == '\\'))
                v++;
            if (n + 1 >= size)
                return false;
            out[n++] = *v;
        }
        out[n] = '\0';
        return true;
    }
    return false;
}

bool multipart_init(struct multipart *m, const char *content_type)
{
    char boundary[MULTIPART_BOUNDARY_MAX + 1];

    memset(m, 0, sizeof *m);
    if (content_type == NULL || strncasecmp(content_type, "multipart/form-data", 19) != 0 ||
        !parameter(content_type, "boundary", boundary, sizeof boundary) || boundary[0] == '\0' ||
        strpbrk(boundary, "\r\n") != NULL)
        return false;
    m->delimiter_len = (size_t)snprintf(m->delimiter, sizeof m->delimiter, "\r\n--%s", boundary);
    m->matched = 2; /* the first boundary may be at the very beginning */
    return true;
}

static void undo_percent(char *s)
{
    static const struct {
        const char *code;
        char c;
    } rows[] = {{"%22", '"'}, {"%0D", '\r'}, {"%0A", '\n'}};
    char *to = s;

    for (; *s != '\0'; s++) {
        char c = *s;

        for (size_t i = 0; i < 3; i++)
            if (strncmp(s, rows[i].code, 3) == 0) {
                c = rows[i].c;
                s += 2;
                break;
            }
        *to++ = c;
    }
    *to = '\0';
}

/* Of the part's headers only Content-Disposition matters. */
static bool head_parse(struct multipart *m)
{
    char *line, *save = NULL;

    m->name[0] = m->filename[0] = '\0';
    m->head[m->head_len] = '\0';
    if (strlen(m->head) != m->head_len)
        return false;
    for (line = strtok_r(m->head, "\r\n", &save); line != NULL;
         line = strtok_r(NULL, "\r\n", &save)) {
        if (strncasecmp(line, "Content-Disposition:", 20) != 0)
            continue;
        if (!parameter(line, "name", m->name, sizeof m->name))
            return false;
        if (!parameter(line, "filename", m->filename, sizeof m->filename))
            m->filename[0] = '\0';
        undo_percent(m->filename); /* how browsers escape quotes and line ends */
    }
    return true;
}

/* --- bytes ----------------------------------------------------------------------------------- */

/* Data up to a possible boundary. Only its first byte is a CR, so after a mismatch all matched
 * bytes are data, and matching restarts with the byte that did not match. */
static enum multipart_event feed_data(struct multipart *m, const char *bytes, size_t len,
                                      size_t *used)
{
    const char *cr;

    while (m->matched > 0 && *used < len) {
        if (bytes[*used] == m->delimiter[m->matched]) {
            ++*used;
            if (++m->matched < m->delimiter_len)
                continue;
            m->matched = 0;
            m->head_len = 0;
            if (m->state == IN_PART) {
                m->state = AFTER_BOUNDARY;
                return MULTIPART_PART_END;
            }
            m->state = AFTER_BOUNDARY;
            return MULTIPART_MORE;
        }
        m->data = m->delimiter;
        m->data_len = m->matched;
        m->matched = 0;
        return MULTIPART_DATA;
    }
    if (*used == len)
        return MULTIPART_MORE;
    cr = memchr(bytes + *used, '\r', len - *used);
    m->data = bytes + *used;
    m->data_len = cr != NULL ? (size_t)(cr - m->data) : len - *used;
    *used += m->data_len + (cr != NULL);
    m->matched = cr != NULL;
    return m->data_len > 0 ? MULTIPART_DATA : MULTIPART_MORE;
}

/* "--" is the end; anything but white space before the line end is an error. */
static enum multipart_event feed_after(struct multipart *m, char c)
{
    if (m->head_len < 2)
        m->head[m->head_len++] = c;
    if (m->head_len == 2 && memcmp(m->head, "--", 2) == 0) {
        m->state = AT_END;
        return MULTIPART_DONE;
    }
    if (c == '\n') {
        m->state = IN_HEAD;
        m->head_len = 0;
    } else if (c != '\r' && c != ' ' && c != '\t' && c != '-') {
        return MULTIPART_ERROR;
    }
    return MULTIPART_MORE;
}

static enum multipart_event feed_head(struct multipart *m, char c)
{
    if (m->head_len + 1 >= sizeof m->head)
        return MULTIPART_ERROR;
    m->head[m->head_len++] = c;
    if (!(m->head_len == 2 && memcmp(m->head, "\r\n", 2) == 0) &&
        !(m->head_len >= 4 && memcmp(m->head + m->head_len - 4, "\r\n\r\n", 4) == 0))
        return MULTIPART_MORE;
    m->state = IN_PART;
    return head_parse(m) ? MULTIPART_PART : MULTIPART_ERROR;
}

enum multipart_event multipart_feed(struct multipart *m, const char *bytes, size_t len,
                                    size_t *used)
{
    enum multipart_event e = MULTIPART_MORE;

    *used = 0;
    while (e == MULTIPART_MORE && *used < len) {
        if (m->state == AT_END) {
            *used = len;
        } else if (m->state == AFTER_BOUNDARY) {
            e = feed_after(m, bytes[(*used)++]);
        } else if (m->state == IN_HEAD) {
            e = feed_head(m, bytes[(*used)++]);
        } else {
            e = feed_data(m, bytes, len, used);
            if (e == MULTIPART_DATA && m->state == IN_PREAMBLE)
                e = MULTIPART_MORE;
        }
    }
    return e;
}
