/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get_screen.c - GET /v1/processes/{id}/screen: what a person would see
 *
 * Replies at once if the screen is up to date or nearly so. Otherwise the request waits while the
 * screen is brought up to date in slices. Layer: dialects.
 */
#include <stdio.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"
#include "dialects/native/screen/screen_draw.h"

enum format { FORMAT_TEXT, FORMAT_ANSI, FORMAT_JSON, FORMAT_HTML, FORMAT_SVG };

struct screen_request {
    struct call call;
    struct process *process; /* referenced */
    struct screen_waiter waiter;
    int format;
    int64_t lines;
};

static void screen_request_release(struct call *c)
{
    struct screen_request *a = list_entry(c, struct screen_request, call);

    screen_waiter_cancel(&a->waiter);
    native_wait_end(native_of_call(c));
    process_unref(a->process);
}

static const struct call_kind screen_request_kind = {.release = screen_request_release,
                                                     .drain_text = NATIVE_CLOSED_TEXT};

static void put_text(struct buf *out, const struct screen_picture *p)
{
    screen_text(p->term, (size_t)p->lines, out);
}

static void reply(struct http_request *rq, struct process *p, const struct term *t, int format,
                  int64_t lines)
{
    static const struct {
        void (*put)(struct buf *out, const struct screen_picture *p);
        const char *type;
    } formats[] = {
        [FORMAT_TEXT] = {put_text, "text/plain; charset=utf-8"},
        [FORMAT_ANSI] = {screen_put_ansi, "text/plain; charset=utf-8"},
        [FORMAT_JSON] = {screen_put_json, "application/json"},
        [FORMAT_HTML] = {screen_put_html, "text/html; charset=utf-8"},
        [FORMAT_SVG] = {screen_put_svg, "image/svg+xml"},
    };
    struct screen_picture picture = {.term = t};
    struct buf *out = &native_of(rq)->base.scratch;
    char offset[24];

    screen_view(p, t, &picture.view);
    picture.lines =
        (int)(lines < (int64_t)picture.view.scrollback ? lines : (int64_t)picture.view.scrollback);
    buf_clear(out);
    formats[format].put(out, &picture);
    snprintf(offset, sizeof offset, "%llu", (unsigned long long)picture.view.offset);
    http_add_header(rq, "Holdfast-Offset", offset);
    if (format == FORMAT_HTML || format == FORMAT_SVG) /* the document cannot run scripts */
        http_add_header(rq, "Content-Security-Policy",
                        "default-src 'none'; style-src 'unsafe-inline'; sandbox");
    http_reply(rq, 200, formats[format].type, buf_data(out), out->len);
}

static void screen_request_on_screen(void *arg, struct process *p)
{
    struct screen_request *a = arg;

    reply(a->call.rq, p, screen_as_it_is(p), a->format, a->lines);
    call_end(&a->call);
}

static void screen_request_begin(struct http_request *rq, struct process *p, int format,
                                 int64_t lines)
{
    struct screen_request *a = call_begin(rq, &screen_request_kind, sizeof *a);

    a->process = process_ref(p);
    a->format = format;
    a->lines = lines;
    list_init(&a->waiter.link);
    a->waiter.fn = screen_request_on_screen;
    a->waiter.arg = a;
    screen_wait(p, &a->waiter);
}

static int screen_decode(const struct http_request *rq, struct process *p, int *format,
                         int64_t *lines, struct hf_error *err)
{
    static const char *const names[] = {"text", "ansi", "json", "html", "svg", NULL};
    struct process_view v;

    process_view(p, &v);
    if (native_decode_choice(rq, "format", names, format, err) < 0 ||
        native_decode_i64(rq, "scrollback", 0, LIMIT_SCROLLBACK_LINES, lines, err) < 0)
        return -1;
    if (!v.pty)
        return hf_fail(err, HF_E_not_a_terminal,
                       "this process uses pipes and has no screen; read its output");
    return 0;
}

int screen_handle(struct http_request *rq, struct process *p, struct hf_error *err)
{
    const struct term *t;
    int format = FORMAT_TEXT;
    int64_t lines = 0;

    if (screen_decode(rq, p, &format, &lines, err) < 0)
        return -1;
    t = process_screen(p);
    if (t != NULL) {
        reply(rq, p, t, format, lines);
        return 0;
    }
    if (native_wait_begin(native_of(rq), rq, err) < 0)
        return -1;
    screen_request_begin(rq, p, format, lines);
    return 0;
}
