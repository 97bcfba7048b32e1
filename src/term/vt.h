/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vt.h - parses the bytes of a terminal's output
 *
 * The state machine of DEC's terminals, as implemented by xterm.js: UTF-8 first, then controls,
 * escape and control sequences, and strings. It uses no pointers and no allocation, so it may live
 * in shared memory, and it accepts the bytes in chunks of any size. Pure. Layer: term; includes
 * nothing above base.
 */
#ifndef HF_TERM_VT_H
#define HF_TERM_VT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VT_PARAMS 40      /* of both kinds in one sequence */
#define VT_PARAMS_MAIN 32 /* what follows is ignored, as xterm.js does */

enum vt_state {
    VT_GROUND,
    VT_ESCAPE,
    VT_ESCAPE_INTER,
    VT_CSI_ENTRY,
    VT_CSI_PARAM,
    VT_CSI_INTER,
    VT_CSI_IGNORE,
    VT_OSC,
    VT_DCS_ENTRY,
    VT_DCS_PARAM,
    VT_DCS_INTER,
    VT_DCS_IGNORE,
    VT_DCS,
    VT_STRING, /* SOS, PM, APC: ignored */
};

/*
 * A token is a character, a control, a sequence or a string. While one is open, `token_at` is the
 * offset of its first byte: a parser that has to start in the middle starts there. Offsets are the
 * caller's: set `at` before the first feed.
 */
struct vt {
    uint64_t at;               /* after the last byte consumed */
    uint64_t token_at;         /* of the token that is open or being reported */
    uint64_t sub;              /* bit i: params[i] belongs to the one before it */
    uint32_t collect;          /* prefix and intermediates, the last one lowest */
    uint32_t cp;               /* of an incomplete character */
    int32_t params[VT_PARAMS]; /* -1: an omitted sub-parameter */
    uint8_t count, mains;
    uint8_t state;
    uint8_t need, kind; /* bytes missing from the character, and its length */
    uint8_t digits_to;  /* where digits go: nowhere, to a parameter, to a sub-parameter */
    uint8_t executed;   /* a control inside the open sequence has taken effect */
    uint8_t broke;      /* enum vt_broke: what the open token interrupted */
};

enum vt_broke { VT_BROKE_NOTHING, VT_BROKE_SEQUENCE, VT_BROKE_STRING };
enum vt_string { VT_STRING_OSC, VT_STRING_DCS, VT_STRING_OTHER };

/* Callbacks. Any may be NULL: not wanted. */
struct vt_ops {
    void (*text)(void *arg, const char *ascii, size_t len); /* 0x20 to 0x7e */
    void (*print)(void *arg, uint32_t cp);                  /* from U+00A0 on */
    void (*control)(void *arg, uint8_t c);                  /* C0 and C1 */
    void (*csi)(void *arg, const struct vt *v, uint32_t id);
    void (*esc)(void *arg, const struct vt *v, uint32_t id);
    void (*string_begin)(void *arg, const struct vt *v, enum vt_string kind, uint32_t id);
    void (*string_put)(void *arg, const char *bytes, size_t len);
    /* ok: not cancelled. `end` is the byte that ended it: BEL, ESC (of ST), or 0x9c. */
    void (*string_end)(void *arg, const struct vt *v, bool ok, uint8_t end);
    /* If text is not wanted, it is skipped at the speed of memory, characters too: only ENQ, BEL,
     * SO, SI and ESC are searched for, and `control` gets no others. */
    /* As most terminals do: only ESC begins a sequence, so a C1 control is a character, and DCS,
     * SOS, PM and APC (all VT_STRING_OTHER then) go on to their ST. xterm.js knows C1 controls, and
     * ends the latter three and the head of a DCS at the first character beyond ASCII. */
    bool esc_only;
    /* Called after each token and within long text: true stops the feed. NULL: everything is
     * consumed. */
    bool (*enough)(void *arg);
};

/* True if the bytes are only text: for a caller that ignores text, they merely advance v->at. */
bool vt_is_plain(const struct vt *v, const void *bytes, size_t len);

/* Returns the number of bytes consumed: all, or at least one if `enough` returned true. */
size_t vt_feed(struct vt *v, const struct vt_ops *ops, void *arg, const void *bytes, size_t len);
/* Is a token open? If so, it starts at token_at. */
bool vt_is_open(const struct vt *v);
/* Resets to the ground state, as RIS does; the offset stays. */
void vt_reset(struct vt *v);

/* An id is its prefix, intermediates and final byte in one number: VT_ID('?', 0, 'h'). */
#define VT_ID(prefix, inter, final)                                                                \
    ((uint32_t)((prefix) != 0 ? ((inter) != 0 ? (prefix) << 16 | (inter) << 8 : (prefix) << 8)     \
                              : (inter) << 8) |                                                    \
     (uint32_t)(final))

/* The i-th parameter without sub-parameters, `def` if it is 0 or missing; vt_param_raw:
 * unchanged. */
int32_t vt_param(const struct vt *v, unsigned i, int32_t def);
int32_t vt_param_raw(const struct vt *v, unsigned i);
/* The index of the i-th parameter in params[], VT_PARAMS if it is missing; and the number of its
 * sub-parameters. */
unsigned vt_param_index(const struct vt *v, unsigned i);
unsigned vt_param_subs(const struct vt *v, unsigned index);

#endif
