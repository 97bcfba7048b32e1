/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_progress.c - notifications/progress: elapsed time, size of the output, the last line
 *
 * The share of a command that is done is unknown, so the number is the elapsed time in seconds. It
 * increases with every notification, as the protocol requires. Layer: dialects.
 */
#include "dialects/mcp/mcp_progress.h"

#include "base/limits.h"
#include "base/text.h"
#include "dialects/mcp/mcp_exchange.h"

#define LAST_LINE_BYTES 200

/* The last non-empty line, without control characters. */
static void put_last_line(struct buf *out, const struct journal *j)
{
    uint64_t end = journal_next(j), first = journal_first(j), at;
    const char *bytes;
    size_t len, i;

    at = end - first > LAST_LINE_BYTES ? end - LAST_LINE_BYTES : first;
    bytes = journal_bytes(j, at);
    len = (size_t)(end - at);
    while (len > 0 && (unsigned char)bytes[len - 1] <= ' ')
        len--;
    for (i = len; i > 0 && bytes[i - 1] != '\n' && bytes[i - 1] != '\r';)
        i--;
    if (i == len)
        return;
    buf_puts(out, ": ");
    while (i < len) {
        size_t n = utf8_char_len(bytes + i, len - i);

        if (n > 0 && (unsigned char)bytes[i] >= ' ' && bytes[i] != 0x7f)
            buf_put(out, bytes + i, n);
        i += n > 0 ? n : 1;
    }
}

static void write_progress(const struct mcp_call *c, struct buf *out, uint64_t seconds)
{
    struct buf *text = &mcp_call_mcp(c)->text;
    const struct journal *j = process_journal(c->process);
    struct json_out o;

    buf_clear(text);
    buf_printf(text, "running for %llu s, %llu bytes of output", (unsigned long long)seconds,
               (unsigned long long)journal_next(j));
    put_last_line(text, j);
    buf_clear(out);
    json_out_init(&o, out);
    json_open(&o, '{');
    json_kstr(&o, "jsonrpc", "2.0");
    json_kstr(&o, "method", "notifications/progress");
    json_key(&o, "params");
    json_open(&o, '{');
    json_key(&o, "progressToken");
    json_value(&o, c->token);
    json_ku64(&o, "progress", seconds);
    json_key(&o, "message");
    json_strn(&o, buf_data(text), text->len);
    json_close(&o, '}');
    json_close(&o, '}');
}

void progress_on_timer(struct timer *t, void *arg)
{
    struct mcp_call *c = arg;
    struct mcp *m = mcp_call_mcp(c);

    write_progress(c, &m->scratch, (loop_now_ms(mcp_call_loop(c)) - c->began_ms) / 1000);
    exchange_notify(c->exchange, &m->scratch);
    timer_start(t, MCP_PROGRESS_MS);
}
