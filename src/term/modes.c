/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modes.c - the modes of a terminal. Layer: term.
 */
#include "term/modes.h"

#include <string.h>

static const struct {
    int32_t number;
    uint32_t flag;
} dec_modes[] = {
    {1, MODE_APP_CURSOR},    {5, MODE_REVERSE_VIDEO},  {6, MODE_ORIGIN},
    {7, MODE_AUTOWRAP},      {25, MODE_CURSOR},        {45, MODE_REVERSE_WRAP},
    {66, MODE_APP_KEYPAD},   {1004, MODE_FOCUS},       {1005, MODE_MOUSE_UTF8},
    {1007, MODE_ALT_SCROLL}, {1015, MODE_MOUSE_URXVT}, {2004, MODE_PASTE},
    {2026, MODE_SYNC},       {2031, MODE_COLOUR_NEWS}, {2048, MODE_SIZE_NEWS},
    {47, MODE_ALT_SCREEN},   {1047, MODE_ALT_SCREEN},  {1049, MODE_ALT_SCREEN},
};
#define DEC_MODES (sizeof dec_modes / sizeof *dec_modes)
#define DEC_PLAIN (DEC_MODES - 3) /* without the screens */

/* What DECSTR and RIS reset. The rest are options of xterm.js, or belong to the screen. */
#define SOFT_FLAGS                                                                                 \
    (MODE_APP_CURSOR | MODE_ORIGIN | MODE_AUTOWRAP | MODE_REVERSE_WRAP | MODE_APP_KEYPAD |         \
     MODE_FOCUS | MODE_PASTE | MODE_SYNC | MODE_INSERT)

int modes_dec_number(unsigned i, uint32_t *flag)
{
    if (i >= DEC_PLAIN)
        return 0;
    *flag = dec_modes[i].flag;
    return dec_modes[i].number;
}

void modes_resized(struct modes *m)
{
    m->top[0] = m->top[1] = 0;
    m->bottom[0] = m->bottom[1] = REGION_TO_END;
}

void modes_init(struct modes *m)
{
    memset(m, 0, sizeof *m);
    m->flags = MODES_AT_FIRST;
    modes_resized(m);
}

static void set_flag(struct modes *m, uint32_t flag, bool on)
{
    m->flags = on ? m->flags | flag : m->flags & ~flag;
}

/* --- character sets ------------------------------------------------------------ */

static void charset_shift(struct modes *m, uint8_t level)
{
    m->shift = level;
    m->charset_now = m->charset[level];
}

static void charset_set(struct modes *m, unsigned level, uint8_t name)
{
    m->charset[level] = name;
    if (m->shift == level)
        m->charset_now = name;
}

static void charset_designate(struct modes *m, uint8_t where, uint8_t name)
{
    static const char places[] = "()*+-.";
    static const uint8_t levels[] = {0, 1, 2, 3, 1, 2};
    const char *at = strchr(places, where);

    if (at == NULL || where == 0 || name == 0 || strchr("0AB4C5RQKYE6ZH7=", name) == NULL)
        return;
    charset_set(m, levels[at - places], name == 'B' ? 0 : name);
}

void modes_save(struct modes *m)
{
    m->charset_saved[modes_screen(m)] = m->charset_now;
}

void modes_restore(struct modes *m)
{
    m->charset_now = m->charset_saved[modes_screen(m)];
}

static void charset_reset(struct modes *m)
{
    memset(m->charset, 0, sizeof m->charset);
    m->charset_now = m->shift = 0;
}

void modes_control(struct modes *m, uint8_t c)
{
    if (c == 0x0e)
        charset_shift(m, 1);
    else if (c == 0x0f)
        charset_shift(m, 0);
}

/* --- resets --------------------------------------------------------------------- */

static void reset_flags(struct modes *m)
{
    m->flags = (m->flags & ~SOFT_FLAGS) | MODE_AUTOWRAP;
    m->cursor_style = 0;
    charset_reset(m);
}

void modes_soft_reset(struct modes *m)
{
    unsigned s = modes_screen(m);

    reset_flags(m);
    m->flags |= MODE_CURSOR;
    m->top[s] = 0;
    m->bottom[s] = REGION_TO_END;
    m->charset_saved[s] = 0;
}

void modes_full_reset(struct modes *m)
{
    uint32_t kept = m->flags & (MODE_CURSOR | MODE_NEWLINE);
    uint8_t blink = m->cursor_blink;

    modes_init(m);
    m->flags = (m->flags & ~(uint32_t)MODE_CURSOR) | kept;
    m->cursor_blink = blink;
}

/* --- setting ---------------------------------------------------------------------- */

static void set_mouse(struct modes *m, int32_t number, bool on)
{
    switch (number) {
    case 9: m->mouse = on ? MOUSE_X10 : MOUSE_NONE; break;
    case 1000: m->mouse = on ? MOUSE_CLICKS : MOUSE_NONE; break;
    case 1002: m->mouse = on ? MOUSE_DRAG : MOUSE_NONE; break;
    case 1003: m->mouse = on ? MOUSE_ANY : MOUSE_NONE; break;
    case 1006: m->mouse_coding = on ? MOUSE_SGR : MOUSE_PLAIN; break;
    case 1016: m->mouse_coding = on ? MOUSE_PIXELS : MOUSE_PLAIN; break;
    default: break;
    }
}

/* Leaving the alternate screen resets its region: the screen is blank each time it is entered. */
static void set_screen(struct modes *m, int32_t number, bool on)
{
    bool was = modes_on(m, MODE_ALT_SCREEN);

    if (on && number == 1049)
        modes_save(m);
    set_flag(m, MODE_ALT_SCREEN, on);
    if (was && !on) {
        m->top[1] = 0;
        m->bottom[1] = REGION_TO_END;
    }
    if (!on && number == 1049)
        modes_restore(m);
}

static void set_dec(struct modes *m, int32_t number, bool on)
{
    unsigned i;

    switch (number) {
    case 2:
        if (on) {
            memset(m->charset, 0, sizeof m->charset);
            m->charset_now = 0;
        }
        return;
    case 12: m->cursor_blink = on ? 1 : 2; return;
    case 47:
    case 1047:
    case 1049: set_screen(m, number, on); return;
    case 1048: on ? modes_save(m) : modes_restore(m); return;
    default: break;
    }
    set_mouse(m, number, on);
    for (i = 0; i < DEC_PLAIN; i++)
        if (dec_modes[i].number == number)
            set_flag(m, dec_modes[i].flag, on);
}

static void set_ansi(struct modes *m, int32_t number, bool on)
{
    if (number == 4)
        set_flag(m, MODE_INSERT, on);
    else if (number == 20)
        set_flag(m, MODE_NEWLINE, on);
}

static void set_region(struct modes *m, const struct vt *v, unsigned rows)
{
    int32_t top = vt_param(v, 0, 1), bottom = vt_param_raw(v, 1);
    unsigned s = modes_screen(m);

    if (bottom <= 0 || bottom > (int32_t)rows)
        bottom = (int32_t)rows;
    if (bottom <= top)
        return;
    m->top[s] = (uint16_t)(top - 1);
    m->bottom[s] = bottom == (int32_t)rows ? REGION_TO_END : (uint16_t)(bottom - 1);
}

/* Kitty's keyboard flags: CSI > f u pushes, CSI < n u pops, CSI = f ; how u changes. */
static void set_keys(struct modes *m, const struct vt *v, uint32_t id)
{
    unsigned s = modes_screen(m);
    uint8_t *n = &m->keys_count[s], *stack = m->keys[s], f = (uint8_t)vt_param_raw(v, 0);
    int32_t pop = vt_param(v, 0, 1);

    if (id == VT_ID('>', 0, 'u')) {
        if (*n == MODES_KEY_STACK) {
            memmove(stack, stack + 1, MODES_KEY_STACK - 1);
            --*n;
        }
        stack[(*n)++] = f;
    } else if (id == VT_ID('<', 0, 'u')) {
        *n = (uint8_t)(pop < *n ? *n - pop : 0);
    } else {
        int32_t how = vt_param(v, 1, 1);
        if (*n == 0)
            stack[(*n)++] = 0;
        stack[*n - 1] = how == 2 ? stack[*n - 1] | f : how == 3 ? stack[*n - 1] & (uint8_t)~f : f;
    }
}

static void set_many(struct modes *m, const struct vt *v, bool dec, bool on)
{
    unsigned i;

    for (i = 0; i < v->count; i++) {
        if (v->sub >> i & 1)
            continue;
        if (dec)
            set_dec(m, v->params[i], on);
        else
            set_ansi(m, v->params[i], on);
    }
}

void modes_csi(struct modes *m, const struct vt *v, uint32_t id, unsigned rows)
{
    switch (id) {
    case VT_ID('?', 0, 'h'): set_many(m, v, true, true); break;
    case VT_ID('?', 0, 'l'): set_many(m, v, true, false); break;
    case VT_ID(0, 0, 'h'): set_many(m, v, false, true); break;
    case VT_ID(0, 0, 'l'): set_many(m, v, false, false); break;
    case VT_ID(0, ' ', 'q'):
        if (vt_param_raw(v, 0) <= 6)
            m->cursor_style = (uint8_t)vt_param_raw(v, 0);
        break;
    case VT_ID(0, '!', 'p'): modes_soft_reset(m); break;
    case VT_ID(0, 0, 'r'): set_region(m, v, rows); break;
    case VT_ID(0, 0, 's'): modes_save(m); break;
    case VT_ID(0, 0, 'u'): modes_restore(m); break;
    case VT_ID('>', 0, 'm'):
        if (vt_param_raw(v, 0) == 4 && vt_param_raw(v, 1) <= 2)
            m->other_keys = (uint8_t)vt_param_raw(v, 1);
        break;
    case VT_ID('>', 0, 'u'):
    case VT_ID('<', 0, 'u'):
    case VT_ID('=', 0, 'u'): set_keys(m, v, id); break;
    default: break;
    }
}

void modes_esc(struct modes *m, uint32_t id)
{
    switch (id) {
    case '7': modes_save(m); break;
    case '8': modes_restore(m); break;
    case '=': set_flag(m, MODE_APP_KEYPAD, true); break;
    case '>': set_flag(m, MODE_APP_KEYPAD, false); break;
    case 'c': modes_full_reset(m); break;
    case 'n':
    case '}': charset_shift(m, 2); break;
    case 'o':
    case '|': charset_shift(m, 3); break;
    case '~': charset_shift(m, 1); break;
    case VT_ID(0, '%', '@'):
    case VT_ID(0, '%', 'G'):
        charset_shift(m, 0);
        charset_set(m, 0, 0);
        break;
    default:
        if (id > 0xff && id <= 0xffff)
            charset_designate(m, (uint8_t)(id >> 8), (uint8_t)id);
        break;
    }
}

/* --- reporting ---------------------------------------------------------------------- */

static int report_mouse(const struct modes *m, int32_t number)
{
    static const struct {
        int32_t number;
        uint8_t mode;
    } mice[] = {{9, MOUSE_X10}, {1000, MOUSE_CLICKS}, {1002, MOUSE_DRAG}, {1003, MOUSE_ANY}};
    unsigned i;

    for (i = 0; i < sizeof mice / sizeof *mice; i++)
        if (mice[i].number == number)
            return m->mouse == mice[i].mode ? 1 : 2;
    if (number == 1006)
        return m->mouse_coding == MOUSE_SGR ? 1 : 2;
    if (number == 1016)
        return m->mouse_coding == MOUSE_PIXELS ? 1 : 2;
    return 0;
}

int modes_report(const struct modes *m, bool dec, int32_t number)
{
    unsigned i;

    if (!dec) {
        if (number == 4)
            return modes_on(m, MODE_INSERT) ? 1 : 2;
        return number == 20   ? (modes_on(m, MODE_NEWLINE) ? 1 : 2)
               : number == 12 ? 3
               : number == 2  ? 4
                              : 0;
    }
    for (i = 0; i < DEC_MODES; i++)
        if (dec_modes[i].number == number)
            return modes_on(m, dec_modes[i].flag) ? 1 : 2;
    if (number == 12)
        return m->cursor_blink == 1 ? 1 : 2;
    if (number == 8)
        return 3;
    if (number == 67)
        return 4;
    return number == 1048 ? 1 : report_mouse(m, number);
}
