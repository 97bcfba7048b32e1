/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modes.h - the modes of a terminal
 *
 * These are the settings that outlive the bytes that set them: which screen is active, what keys
 * and mouse send, the cursor's shape, scroll regions, character sets. Sequences change them as they
 * do in xterm, following xterm.js. The always-on tracker and the screen share this code. It uses no
 * pointers and no allocation: it lives in shared memory and is copied by value. Pure. Layer: term.
 */
#ifndef HF_TERM_MODES_H
#define HF_TERM_MODES_H

#include <stdbool.h>
#include <stdint.h>

#include "term/vt.h"

/* DEC private modes that are on or off; the order is that of modes.c's table. */
enum mode_flag {
    MODE_APP_CURSOR = 1u << 0,    /* ?1 */
    MODE_REVERSE_VIDEO = 1u << 1, /* ?5 */
    MODE_ORIGIN = 1u << 2,        /* ?6 */
    MODE_AUTOWRAP = 1u << 3,      /* ?7, on by default */
    MODE_CURSOR = 1u << 4,        /* ?25, on by default */
    MODE_REVERSE_WRAP = 1u << 5,  /* ?45 */
    MODE_APP_KEYPAD = 1u << 6,    /* ?66, ESC = and ESC > */
    MODE_FOCUS = 1u << 7,         /* ?1004 */
    MODE_MOUSE_UTF8 = 1u << 8,    /* ?1005 */
    MODE_ALT_SCROLL = 1u << 9,    /* ?1007 */
    MODE_MOUSE_URXVT = 1u << 10,  /* ?1015 */
    MODE_PASTE = 1u << 11,        /* ?2004 */
    MODE_SYNC = 1u << 12,         /* ?2026 */
    MODE_COLOUR_NEWS = 1u << 13,  /* ?2031 */
    MODE_SIZE_NEWS = 1u << 14,    /* ?2048 */
    MODE_INSERT = 1u << 16,       /* 4 */
    MODE_NEWLINE = 1u << 17,      /* 20 */
    MODE_ALT_SCREEN = 1u << 18,   /* ?47, ?1047, ?1049 */
};
#define MODES_AT_FIRST (MODE_AUTOWRAP | MODE_CURSOR)

enum mouse_mode { MOUSE_NONE, MOUSE_X10, MOUSE_CLICKS, MOUSE_DRAG, MOUSE_ANY };
enum mouse_coding { MOUSE_PLAIN, MOUSE_SGR, MOUSE_PIXELS };

#define MODES_KEY_STACK 8
#define REGION_TO_END UINT16_MAX

struct modes {
    uint32_t flags;
    uint8_t mouse, mouse_coding;
    uint8_t cursor_style; /* DECSCUSR's 0 to 6 */
    uint8_t cursor_blink; /* ?12: 0 never set, 1 on, 2 off */
    uint8_t charset[4];   /* G0 to G3: 0 is ASCII, else the letter that names it */
    uint8_t charset_now;  /* active; differs from charset[shift] after a cursor was restored */
    uint8_t charset_saved[2];
    uint8_t shift;         /* which of G0 to G3 */
    uint8_t other_keys;    /* xterm's modifyOtherKeys */
    uint8_t keys_count[2]; /* kitty's keyboard flags, a stack per screen */
    uint8_t keys[2][MODES_KEY_STACK];
    uint16_t top[2],
        bottom[2]; /* scroll regions from 0, inclusive, of the main and the alternate screen */
};

void modes_init(struct modes *m);
/* The size changed: resets the scroll regions. */
void modes_resized(struct modes *m);
static inline bool modes_on(const struct modes *m, uint32_t flag)
{
    return (m->flags & flag) != 0;
}
static inline unsigned modes_screen(const struct modes *m) /* 0 main, 1 alternate */
{
    return (m->flags & MODE_ALT_SCREEN) != 0;
}

/* Applies a sequence to the modes; sequences that set no mode have no effect. `rows` bounds the
 * region. */
void modes_csi(struct modes *m, const struct vt *v, uint32_t id, unsigned rows);
void modes_esc(struct modes *m, uint32_t id);
void modes_control(struct modes *m, uint8_t c);
void modes_save(struct modes *m);    /* DECSC: the character set */
void modes_restore(struct modes *m); /* DECRC */
void modes_soft_reset(struct modes *m);
void modes_full_reset(struct modes *m); /* RIS; like xterm.js, it keeps the cursor's visibility */

/* The state of a mode as reported by DECRQM: 0 unknown, 1 set, 2 reset, 3 and 4 permanently so. */
int modes_report(const struct modes *m, bool dec, int32_t number);
/* The number of the i-th DEC private mode that is a flag, and the flag; 0 after the last. */
int modes_dec_number(unsigned i, uint32_t *flag);

#endif
