/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vt.c - parses the bytes of a terminal's output. Layer: term.
 */
#include "term/vt.h"

#include <endian.h>
#include <string.h>

#define ENQ 0x05
#define BEL 0x07
#define SO 0x0e
#define ESC 0x1b
#define CAN 0x18
#define SUB 0x1a
#define ST 0x9c

enum { DIGITS_NOWHERE, DIGITS_PARAM, DIGITS_SUB };

/* --- parameters ------------------------------------------------------------- */

static void params_clear(struct vt *v)
{
    v->params[0] = 0;
    v->count = v->mains = 1;
    v->sub = 0;
    v->digits_to = DIGITS_PARAM;
    v->collect = 0;
}

static void param_add(struct vt *v)
{
    v->digits_to = DIGITS_NOWHERE;
    if (v->mains >= VT_PARAMS_MAIN || v->count >= VT_PARAMS) {
        v->mains = VT_PARAMS_MAIN; /* everything after this is ignored, sub-parameters too */
        return;
    }
    v->params[v->count++] = 0;
    v->mains++;
    v->digits_to = DIGITS_PARAM;
}

static void param_add_sub(struct vt *v)
{
    if (v->digits_to == DIGITS_NOWHERE || v->count >= VT_PARAMS) {
        v->digits_to = DIGITS_NOWHERE;
        return;
    }
    v->sub |= 1ULL << v->count;
    v->params[v->count++] = -1;
    v->digits_to = DIGITS_SUB;
}

static void param_digit(struct vt *v, uint8_t c)
{
    int32_t *p = &v->params[v->count - 1];
    int64_t n;

    if (v->digits_to == DIGITS_NOWHERE)
        return;
    n = (*p < 0 ? 0 : (int64_t)*p * 10) + (c - '0');
    *p = n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

static void param_byte(struct vt *v, uint8_t c)
{
    if (c == ';')
        param_add(v);
    else if (c == ':')
        param_add_sub(v);
    else
        param_digit(v, c);
}

unsigned vt_param_index(const struct vt *v, unsigned i)
{
    unsigned at;

    for (at = 0; at < v->count; at++)
        if (!(v->sub >> at & 1) && i-- == 0)
            return at;
    return VT_PARAMS;
}

unsigned vt_param_subs(const struct vt *v, unsigned index)
{
    unsigned n = 0;

    while (index + n + 1 < v->count && (v->sub >> (index + n + 1) & 1))
        n++;
    return n;
}

int32_t vt_param_raw(const struct vt *v, unsigned i)
{
    unsigned at = v->sub == 0 ? (i < v->count ? i : VT_PARAMS) : vt_param_index(v, i);

    return at < VT_PARAMS ? v->params[at] : 0;
}

int32_t vt_param(const struct vt *v, unsigned i, int32_t def)
{
    int32_t p = vt_param_raw(v, i);

    return p != 0 ? p : def;
}

/* --- one code point at a time ------------------------------------------------- */

struct vt_feed {
    struct vt *v;
    const struct vt_ops *ops;
    void *arg;
};

static void control(struct vt_feed *f, uint8_t c)
{
    if (f->v->state != VT_GROUND)
        f->v->executed = 1;
    if (f->ops->control != NULL)
        f->ops->control(f->arg, c);
}

static void string_begin(struct vt_feed *f, enum vt_string kind, uint32_t id)
{
    if (f->ops->string_begin != NULL)
        f->ops->string_begin(f->arg, f->v, kind, id);
}

static void string_end(struct vt_feed *f, bool ok, uint8_t end)
{
    bool was_string = f->v->state == VT_OSC || f->v->state == VT_DCS || f->v->state == VT_STRING;

    if (was_string && f->ops->string_end != NULL)
        f->ops->string_end(f->arg, f->v, ok, end);
}

static void string_put_cp(struct vt_feed *f, uint32_t cp)
{
    char b[4];
    size_t n = 0;

    if (f->ops->string_put == NULL)
        return;
    if (cp < 0x80) {
        b[n++] = (char)cp;
    } else if (cp < 0x800) {
        b[n++] = (char)(0xc0 | cp >> 6);
    } else if (cp < 0x10000) {
        b[n++] = (char)(0xe0 | cp >> 12);
        b[n++] = (char)(0x80 | (cp >> 6 & 0x3f));
    } else {
        b[n++] = (char)(0xf0 | cp >> 18);
        b[n++] = (char)(0x80 | (cp >> 12 & 0x3f));
        b[n++] = (char)(0x80 | (cp >> 6 & 0x3f));
    }
    if (cp >= 0x80)
        b[n++] = (char)(0x80 | (cp & 0x3f));
    f->ops->string_put(f->arg, b, n);
}

static void token_begin(struct vt_feed *f, uint32_t cp)
{
    uint8_t state = f->v->state;
    bool in_string = state == VT_OSC || state == VT_DCS || state == VT_STRING;

    f->v->broke = state == VT_GROUND       ? VT_BROKE_NOTHING
                  : in_string && cp == ESC ? VT_BROKE_STRING /* which takes effect all the same */
                                           : VT_BROKE_SEQUENCE;
    f->v->token_at = f->v->at - (cp >= 0x80 ? 2 : 1); /* a C1 control has two bytes in UTF-8 */
    f->v->executed = 0;
    params_clear(f->v);
}

static void string_open(struct vt_feed *f, uint8_t state, enum vt_string kind)
{
    f->v->state = state;
    string_begin(f, kind, 0);
}

static void dcs_open(struct vt_feed *f)
{
    if (f->ops->esc_only)
        string_open(f, VT_STRING, VT_STRING_OTHER);
    else
        f->v->state = VT_DCS_ENTRY;
}

/* Handles what ends or starts a sequence in any state; false: it was neither. */
static bool step_anywhere(struct vt_feed *f, uint32_t cp)
{
    struct vt *v = f->v;
    bool in_string = v->state == VT_OSC || v->state == VT_DCS;

    if (cp != ESC && cp != CAN && cp != SUB && (cp < 0x80 || cp >= 0xa0 || f->ops->esc_only))
        return false;
    string_end(f, cp == ESC || cp == ST, (uint8_t)cp);
    if (cp == ESC || cp == 0x90 || cp == 0x98 || cp >= 0x9d || cp == 0x9b)
        token_begin(f, cp);
    switch (cp) {
    case ESC: v->state = VT_ESCAPE; break;
    case 0x9b: v->state = VT_CSI_ENTRY; break;
    case 0x90: dcs_open(f); break;
    case 0x9d: string_open(f, VT_OSC, VT_STRING_OSC); break;
    case 0x98:
    case 0x9e:
    case 0x9f: string_open(f, VT_STRING, VT_STRING_OTHER); break;
    case ST: v->state = VT_GROUND; break;
    default:
        v->state = VT_GROUND;
        if (!in_string || (cp != CAN && cp != SUB))
            control(f, (uint8_t)cp);
        break;
    }
    return true;
}

static void dispatch_esc(struct vt_feed *f, uint32_t cp)
{
    f->v->state = VT_GROUND;
    if (f->ops->esc != NULL)
        f->ops->esc(f->arg, f->v, f->v->collect << 8 | cp);
}

static void dispatch_csi(struct vt_feed *f, uint32_t cp)
{
    f->v->state = VT_GROUND;
    if (f->ops->csi != NULL)
        f->ops->csi(f->arg, f->v, f->v->collect << 8 | cp);
}

static void step_escape(struct vt_feed *f, uint32_t cp)
{
    struct vt *v = f->v;

    if (cp < 0x30) {
        v->collect = v->collect << 8 | cp;
        v->state = VT_ESCAPE_INTER;
        return;
    }
    if (v->state == VT_ESCAPE_INTER) {
        dispatch_esc(f, cp);
        return;
    }
    switch (cp) {
    case '[': v->state = VT_CSI_ENTRY; break;
    case 'P': dcs_open(f); break;
    case ']': string_open(f, VT_OSC, VT_STRING_OSC); break;
    case 'X':
    case '^':
    case '_': string_open(f, VT_STRING, VT_STRING_OTHER); break;
    default: dispatch_esc(f, cp); break;
    }
}

static void step_csi(struct vt_feed *f, uint32_t cp)
{
    struct vt *v = f->v;

    if (cp >= 0x40) {
        if (v->state == VT_CSI_IGNORE)
            v->state = VT_GROUND;
        else
            dispatch_csi(f, cp);
    } else if (v->state == VT_CSI_IGNORE) {
        return;
    } else if (cp < 0x30) {
        v->collect = v->collect << 8 | cp;
        v->state = VT_CSI_INTER;
    } else if (v->state == VT_CSI_INTER) {
        v->state = VT_CSI_IGNORE;
    } else if (cp < 0x3c) {
        param_byte(v, (uint8_t)cp);
        v->state = VT_CSI_PARAM;
    } else if (v->state == VT_CSI_ENTRY) {
        v->collect = v->collect << 8 | cp;
        v->state = VT_CSI_PARAM;
    } else {
        v->state = VT_CSI_IGNORE;
    }
}

static void step_dcs(struct vt_feed *f, uint32_t cp)
{
    struct vt *v = f->v;

    if (cp >= 0x40) {
        if (v->state == VT_DCS_IGNORE)
            return;
        v->state = VT_DCS;
        string_begin(f, VT_STRING_DCS, v->collect << 8 | cp);
    } else if (v->state == VT_DCS_IGNORE) {
        return;
    } else if (cp < 0x30) {
        v->collect = v->collect << 8 | cp;
        v->state = VT_DCS_INTER;
    } else if (v->state == VT_DCS_INTER) {
        v->state = VT_DCS_IGNORE;
    } else if (cp < 0x3c) {
        param_byte(v, (uint8_t)cp);
        v->state = VT_DCS_PARAM;
    } else if (v->state == VT_DCS_ENTRY) {
        v->collect = v->collect << 8 | cp;
        v->state = VT_DCS_PARAM;
    } else {
        v->state = VT_DCS_IGNORE;
    }
}

/* Inside a string. */
static void step_string(struct vt_feed *f, uint32_t cp)
{
    struct vt *v = f->v;

    switch (v->state) {
    case VT_OSC:
        if (cp == 0x07) {
            string_end(f, true, 0x07);
            v->state = VT_GROUND;
        } else if (cp >= 0x20) {
            string_put_cp(f, cp);
        }
        break;
    case VT_DCS:
        if (cp != 0x7f)
            string_put_cp(f, cp);
        break;
    default:
        if (cp >= 0x80 && !f->ops->esc_only) {
            string_end(f, false, 0);
            v->state = VT_GROUND;
        }
        break;
    }
}

/* A non-ASCII character appears where none is allowed. */
static void step_foreign(struct vt *v)
{
    if (v->state != VT_CSI_IGNORE && v->state != VT_DCS_IGNORE)
        v->state = VT_GROUND;
}

static void step_ground(struct vt_feed *f, uint32_t cp)
{
    if (cp >= 0x80) {
        if (f->ops->print != NULL)
            f->ops->print(f->arg, cp);
    } else if (cp < 0x20 || cp == 0x7f) {
        f->v->token_at = f->v->at - 1;
        control(f, (uint8_t)cp);
    } else if (f->ops->text != NULL) {
        char c = (char)cp;
        f->ops->text(f->arg, &c, 1);
    }
}

static void step(struct vt_feed *f, uint32_t cp)
{
    struct vt *v = f->v;

    if (step_anywhere(f, cp))
        return;
    if (v->state == VT_GROUND) {
        step_ground(f, cp);
    } else if (v->state == VT_OSC || v->state == VT_DCS || v->state == VT_STRING) {
        step_string(f, cp);
    } else if (cp >= 0x80) {
        step_foreign(v);
    } else if (cp == 0x7f) {
        return;
    } else if (cp < 0x20) {
        if (v->state < VT_DCS_ENTRY)
            control(f, (uint8_t)cp);
    } else if (v->state <= VT_ESCAPE_INTER) {
        step_escape(f, cp);
    } else if (v->state <= VT_CSI_IGNORE) {
        step_csi(f, cp);
    } else {
        step_dcs(f, cp);
    }
}

/* --- UTF-8 --------------------------------------------------------------------- */

static bool cp_is_good(uint32_t cp, uint8_t kind)
{
    if (kind == 2)
        return cp >= 0x80;
    if (kind == 3)
        return cp >= 0x800 && (cp < 0xd800 || cp > 0xdfff) && cp != 0xfeff;
    return cp >= 0x10000 && cp <= 0x10ffff;
}

static void utf8_begin(struct vt *v, uint8_t c)
{
    if ((c & 0xe0) == 0xc0)
        v->kind = 2;
    else if ((c & 0xf0) == 0xe0)
        v->kind = 3;
    else if ((c & 0xf8) == 0xf0)
        v->kind = 4;
    else
        return; /* no character starts like this: skipped, like all invalid UTF-8 */
    v->need = (uint8_t)(v->kind - 1);
    v->cp = c & (0x7fu >> v->kind);
    if (v->state == VT_GROUND)
        v->token_at = v->at - 1;
}

/* A byte at or above 0x80, or one that interrupts a character. */
static void utf8_byte(struct vt_feed *f, uint8_t c)
{
    struct vt *v = f->v;

    if (v->need == 0 || (c & 0xc0) != 0x80) {
        v->need = 0;
        if (c >= 0x80)
            utf8_begin(v, c);
        else
            step(f, c);
        return;
    }
    v->cp = v->cp << 6 | (c & 0x3f);
    if (--v->need == 0 && cp_is_good(v->cp, v->kind))
        step(f, v->cp);
}

/* --- runs ------------------------------------------------------------------------ */

typedef uint8_t block __attribute__((vector_size(16)));

static bool is_special(uint8_t c)
{
    return (c | 1) == (SO | 1) || (c | 2) == (ENQ | 2) || c == ESC;
}

/* The index of the first special byte of a block, or its size. SO and SI differ in one bit, ENQ
 * and BEL too: one comparison for two. */
static size_t block_find_special(const uint8_t *p)
{
    block b, hit;
    uint64_t half[2];

    memcpy(&b, p, sizeof b);
    hit = (block)((b | 1) == (SO | 1)) | (block)((b | 2) == (ENQ | 2)) | (block)(b == ESC);
    memcpy(half, &hit, sizeof half);
    if (half[0] != 0)
        return (size_t)__builtin_ctzll(le64toh(half[0])) / 8;
    return half[1] != 0 ? 8 + (size_t)__builtin_ctzll(le64toh(half[1])) / 8 : sizeof b;
}

/* The length of the run without ENQ, BEL, SO, SI or ESC. */
static size_t skip_text(const uint8_t *p, size_t len)
{
    size_t i = 0, n = sizeof(block);

    while (len - i >= sizeof(block) && n == sizeof(block)) {
        n = block_find_special(p + i);
        i += n;
    }
    while (n == sizeof(block) && i < len && !is_special(p[i]))
        i++;
    return i;
}

static size_t ascii_run(const uint8_t *p, size_t len)
{
    size_t i = 0;

    while (i < len && p[i] >= 0x20 && p[i] < 0x7f)
        i++;
    return i;
}

#define RUN_MAX 128 /* of text between two calls of `enough` */

/* The number of bytes that can be consumed at once in the current state; 0: the next one goes
 * alone. */
static size_t run_length(struct vt_feed *f, const uint8_t *p, size_t len)
{
    struct vt *v = f->v;
    size_t n = 0;

    if (v->state == VT_GROUND && f->ops->text == NULL) {
        v->need = 0;
        return skip_text(p, len);
    }
    if (v->need > 0)
        return 0;
    if (f->ops->enough != NULL && len > RUN_MAX)
        len = RUN_MAX;
    if (v->state == VT_GROUND) {
        n = ascii_run(p, len);
        if (n > 0)
            f->ops->text(f->arg, (const char *)p, n);
    } else if (v->state == VT_OSC || v->state == VT_DCS) {
        n = ascii_run(p, len);
        if (n > 0 && f->ops->string_put != NULL)
            f->ops->string_put(f->arg, (const char *)p, n);
    } else if (v->state == VT_STRING) {
        n = ascii_run(p, len);
    }
    return n;
}

static size_t take_run(struct vt_feed *f, const uint8_t *p, size_t len)
{
    size_t n = run_length(f, p, len);

    f->v->at += n;
    return n;
}

/*
 * A control sequence whose bytes are all there, which nearly all are: parsed without a look at the
 * state for each byte, or only skipped if nobody wants it. Returns its length; 0: not one.
 */
static size_t take_csi(struct vt_feed *f, const uint8_t *p, size_t len)
{
    struct vt *v = f->v;
    size_t n = 2;

    if (v->state != VT_GROUND || v->need > 0 || len < 3 || p[0] != ESC || p[1] != '[')
        return 0;
    while (n < len && p[n] >= 0x20 && p[n] < 0x40)
        n++;
    if (n == len || p[n] < 0x40 || p[n] > 0x7e)
        return 0;
    if (f->ops->csi == NULL) {
        v->at += n + 1;
        return n + 1;
    }
    v->at++;
    token_begin(f, ESC);
    v->at += n;
    v->state = VT_CSI_ENTRY;
    for (size_t i = 2; i <= n; i++)
        step_csi(f, p[i]);
    return n + 1;
}

bool vt_is_plain(const struct vt *v, const void *bytes, size_t len)
{
    return v->state == VT_GROUND && v->need == 0 && skip_text(bytes, len) == len;
}

static bool is_enough(const struct vt_feed *f)
{
    return f->ops->enough != NULL && f->ops->enough(f->arg);
}

static size_t take_byte(struct vt_feed *f, uint8_t c)
{
    f->v->at++;
    if (c >= 0x80 || f->v->need > 0)
        utf8_byte(f, c);
    else
        step(f, c);
    return 1;
}

size_t vt_feed(struct vt *v, const struct vt_ops *ops, void *arg, const void *bytes, size_t len)
{
    struct vt_feed f = {v, ops, arg};
    const uint8_t *p = bytes;
    size_t i = 0;

    while (i < len) {
        size_t n = take_csi(&f, p + i, len - i);

        if (n == 0)
            n = take_run(&f, p + i, len - i);
        if (n == 0)
            n = take_byte(&f, p[i]);
        i += n;
        if (is_enough(&f))
            break;
    }
    return i;
}

bool vt_is_open(const struct vt *v)
{
    return v->state != VT_GROUND || v->need > 0;
}

void vt_reset(struct vt *v)
{
    v->state = VT_GROUND;
    v->need = 0;
    params_clear(v);
}
