/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_markdown.c - a transcript as text that a model can read. Layer: dialects.
 */
#include "dialects/common/session_markdown.h"

#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/signals.h"
#include "base/text.h"

#define ESC 0x1b
#define BEL 0x07

/* Length of the escape sequence at `p`, which begins with ESC; the rest if it is incomplete. */
static size_t escape_len(const unsigned char *p, size_t len)
{
    size_t i = 2;

    if (len < 2)
        return len;
    if (p[1] == '[') { /* parameters, then one final byte */
        while (i < len && p[i] >= 0x20 && p[i] < 0x40)
            i++;
        return i < len ? i + 1 : len;
    }
    if (p[1] == ']' || p[1] == 'P' || p[1] == '^' || p[1] == '_' || p[1] == 'X') {
        while (i < len && p[i] != BEL && p[i] != ESC)
            i++;
        if (i + 1 < len && p[i] == ESC && p[i + 1] == '\\')
            i++;
        return i < len ? i + 1 : len;
    }
    while (i - 1 < len && p[i - 1] >= 0x20 && p[i - 1] < 0x30)
        i++;
    return i < len ? i : len;
}

void markdown_put_plain(struct buf *out, const char *bytes, size_t len)
{
    const unsigned char *p = (const unsigned char *)bytes;

    while (len > 0) {
        size_t n = utf8_char_len(p, len);

        if (*p == ESC) {
            n = escape_len(p, len);
        } else if (n == 0) {
            buf_put(out, "\xef\xbf\xbd", 3);
            n = 1;
        } else if (n > 1 || (*p >= 0x20 && *p < 0x7f) || *p == '\n' || *p == '\t') {
            buf_put(out, p, n);
        }
        p += n;
        len -= n;
    }
}

/* --- blocks --------------------------------------------------------------------- */

static size_t longest_ticks(const struct buf *b)
{
    const char *p = buf_data(b);
    size_t most = 0, run = 0;

    for (size_t i = 0; i < b->len; i++) {
        run = p[i] == '`' ? run + 1 : 0;
        most = run > most ? run : most;
    }
    return most;
}

static void put_ticks(struct buf *out, size_t n)
{
    while (n-- > 0)
        buf_putc(out, '`');
}

static void end_line(struct buf *b)
{
    if (b->len > 0 && buf_data(b)[b->len - 1] != '\n')
        buf_putc(b, '\n');
}

void markdown_put_block(struct buf *out, const char *language, struct session_text head,
                        struct session_text tail, uint64_t omitted)
{
    struct buf text = {0};
    size_t ticks;

    markdown_put_plain(&text, head.bytes, head.len);
    if (omitted > 0) {
        end_line(&text);
        buf_printf(&text, "[... %llu bytes omitted ...]\n", (unsigned long long)omitted);
    }
    markdown_put_plain(&text, tail.bytes, tail.len);
    end_line(&text);
    ticks = longest_ticks(&text) + 1;
    ticks = ticks < 3 ? 3 : ticks;
    put_ticks(out, ticks);
    buf_puts(out, language);
    buf_putc(out, '\n');
    buf_put(out, buf_data(&text), text.len);
    put_ticks(out, ticks);
    buf_putc(out, '\n');
    buf_fini(&text);
}

/* --- the document ----------------------------------------------------------------- */

static void put_outcome(struct buf *out, const struct session_command *c)
{
    const struct exit_record *x = &c->end.exit;

    if (!c->ended) {
        buf_puts(out, "still running");
        return;
    }
    if (x->kind == EXIT_LOST)
        buf_puts(out, "exit unknown");
    else
        buf_printf(out, "exit %d", x->exit_code);
    if (x->kind != EXIT_EXITED && x->kind != EXIT_LOST)
        buf_printf(out, " (%s)", exit_kind_name(x->kind));
    if (c->end.ended_wall_ms >= c->begin.started_wall_ms)
        buf_printf(out, ", %.1f s",
                   (double)(c->end.ended_wall_ms - c->begin.started_wall_ms) / 1000);
    if (c->end.shell_replaced)
        buf_puts(out, ", shell replaced: previous directory, variables and functions are lost");
}

static void put_item(struct buf *out, const struct session_item *it)
{
    const struct session_command *c = &it->command;
    char time[CLOCK_RFC3339_LEN + 1];

    clock_rfc3339(c->begin.started_wall_ms, time);
    if (it->process == NULL)
        buf_printf(out, "\n## %llu. %s, %s\n\n", (unsigned long long)c->begin.number,
                   source_name(c->begin.source), time);
    else
        buf_printf(out, "\n## Process %s, %s, %s\n\n", c->begin.process_id,
                   source_name(c->begin.source), time);
    markdown_put_block(out, "sh", c->text, (struct session_text){0},
                       c->begin.text_len - c->text.len);
    buf_puts(out, "\nResult: ");
    put_outcome(out, c);
    buf_puts(out, "\n");
    if (c->head.len + c->tail.len + c->end.omitted > 0) {
        buf_putc(out, '\n');
        markdown_put_block(out, "text", c->head, c->tail, c->end.omitted);
    }
}

void session_markdown(struct buf *out, const char *session_id, const struct session_items *all)
{
    buf_printf(out, "# Session %s\n", session_id);
    if (all->dropped > 0)
        buf_printf(out, "\nThe oldest %llu are not shown.\n", (unsigned long long)all->dropped);
    for (size_t i = 0; i < all->count; i++)
        put_item(out, &all->list[i]);
}
