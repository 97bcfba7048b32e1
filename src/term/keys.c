/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.c - encodes named keys as bytes
 *
 * There are three kinds of keys: those that are one byte (Enter, letters), those that end in a
 * letter (arrows: CSI A, with modifiers CSI 1;m A) and those with a number (CSI 5 ~, with modifiers
 * CSI 5;m ~). m is 1 + shift + 2 alt + 4 ctrl. Layer: term.
 */
#include "term/keys.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

enum { MOD_SHIFT = 1, MOD_ALT = 2, MOD_CTRL = 4 };

enum key_kind {
    KEY_BYTE,   /* code is the byte */
    KEY_CURSOR, /* code is the final letter; SS3 in application cursor mode */
    KEY_PF,     /* the same, SS3 always: F1 to F4 */
    KEY_NUMBER, /* code is the number before ~ */
};

struct key {
    const char *name;
    enum key_kind kind;
    uint8_t code;
    uint8_t mods; /* implied by the name */
};

/*
 * F13 to F24 are what terminfo's xterm entries call them: F1 to F12 with
 * shift. The names without vowels are tmux's.
 */
static const struct key keys[] = {
    {"Enter", KEY_BYTE, '\r', 0},
    {"Return", KEY_BYTE, '\r', 0},
    {"Tab", KEY_BYTE, '\t', 0},
    {"BackTab", KEY_BYTE, '\t', MOD_SHIFT},
    {"BTab", KEY_BYTE, '\t', MOD_SHIFT},
    {"Esc", KEY_BYTE, 0x1B, 0},
    {"Escape", KEY_BYTE, 0x1B, 0},
    {"Space", KEY_BYTE, ' ', 0},
    {"Backspace", KEY_BYTE, 0x7F, 0},
    {"BSpace", KEY_BYTE, 0x7F, 0},
    {"Up", KEY_CURSOR, 'A', 0},
    {"Down", KEY_CURSOR, 'B', 0},
    {"Right", KEY_CURSOR, 'C', 0},
    {"Left", KEY_CURSOR, 'D', 0},
    {"ArrowUp", KEY_CURSOR, 'A', 0},
    {"ArrowDown", KEY_CURSOR, 'B', 0},
    {"ArrowRight", KEY_CURSOR, 'C', 0},
    {"ArrowLeft", KEY_CURSOR, 'D', 0},
    {"Home", KEY_CURSOR, 'H', 0},
    {"End", KEY_CURSOR, 'F', 0},
    {"Insert", KEY_NUMBER, 2, 0},
    {"Ins", KEY_NUMBER, 2, 0},
    {"IC", KEY_NUMBER, 2, 0},
    {"Delete", KEY_NUMBER, 3, 0},
    {"Del", KEY_NUMBER, 3, 0},
    {"DC", KEY_NUMBER, 3, 0},
    {"PageUp", KEY_NUMBER, 5, 0},
    {"PgUp", KEY_NUMBER, 5, 0},
    {"PPage", KEY_NUMBER, 5, 0},
    {"PageDown", KEY_NUMBER, 6, 0},
    {"PgDn", KEY_NUMBER, 6, 0},
    {"NPage", KEY_NUMBER, 6, 0},
    {"F1", KEY_PF, 'P', 0},
    {"F2", KEY_PF, 'Q', 0},
    {"F3", KEY_PF, 'R', 0},
    {"F4", KEY_PF, 'S', 0},
    {"F5", KEY_NUMBER, 15, 0},
    {"F6", KEY_NUMBER, 17, 0},
    {"F7", KEY_NUMBER, 18, 0},
    {"F8", KEY_NUMBER, 19, 0},
    {"F9", KEY_NUMBER, 20, 0},
    {"F10", KEY_NUMBER, 21, 0},
    {"F11", KEY_NUMBER, 23, 0},
    {"F12", KEY_NUMBER, 24, 0},
    {"F13", KEY_PF, 'P', MOD_SHIFT},
    {"F14", KEY_PF, 'Q', MOD_SHIFT},
    {"F15", KEY_PF, 'R', MOD_SHIFT},
    {"F16", KEY_PF, 'S', MOD_SHIFT},
    {"F17", KEY_NUMBER, 15, MOD_SHIFT},
    {"F18", KEY_NUMBER, 17, MOD_SHIFT},
    {"F19", KEY_NUMBER, 18, MOD_SHIFT},
    {"F20", KEY_NUMBER, 19, MOD_SHIFT},
    {"F21", KEY_NUMBER, 20, MOD_SHIFT},
    {"F22", KEY_NUMBER, 21, MOD_SHIFT},
    {"F23", KEY_NUMBER, 23, MOD_SHIFT},
    {"F24", KEY_NUMBER, 24, MOD_SHIFT},
};

static const struct {
    const char *name;
    int mod;
} modifiers[] = {
    {"Ctrl", MOD_CTRL}, {"Control", MOD_CTRL}, {"C", MOD_CTRL},      {"Alt", MOD_ALT},
    {"Meta", MOD_ALT},  {"M", MOD_ALT},        {"Shift", MOD_SHIFT}, {"S", MOD_SHIFT},
};

static const struct key *key_find(const char *name)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcasecmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

/* Strips one modifier from the front; 0 if there is none. "C-" alone is none. */
static int take_modifier(const char **name)
{
    size_t n = strcspn(*name, "-+");

    if (n == 0 || (*name)[n] == '\0' || (*name)[n + 1] == '\0')
        return 0;
    for (size_t i = 0; i < sizeof modifiers / sizeof *modifiers; i++)
        if (strlen(modifiers[i].name) == n && strncasecmp(modifiers[i].name, *name, n) == 0) {
            *name += n + 1;
            return modifiers[i].mod;
        }
    return 0;
}

static int put_escaped(struct buf *out, const void *bytes, size_t len, int mods)
{
    if (mods & MOD_ALT)
        buf_putc(out, 0x1B);
    buf_put(out, bytes, len);
    return 0;
}

static int put_byte(struct buf *out, int byte, int mods)
{
    char c = (char)byte;

    return put_escaped(out, &c, 1, mods);
}

/* The byte that Ctrl turns a character into, as on a VT220's keyboard; -EINVAL if none. */
static int control_of(unsigned char c)
{
    static const char digits[] = {0, 0x1B, 0x1C, 0x1D, 0x1E, 0x1F, 0x7F}; /* 2 to 8 */

    if (c >= 'a' && c <= 'z')
        return c - 'a' + 1;
    if (c >= '@' && c <= '_')
        return c - '@';
    if (c >= '2' && c <= '8')
        return digits[c - '2'];
    if (c == '?')
        return 0x7F;
    if (c == '/')
        return 0x1F;
    return c == ' ' ? 0 : -EINVAL;
}

/* Except for letters, the effect of Shift depends on the keyboard layout. */
static int encode_char(struct buf *out, const char *c, int mods)
{
    size_t len = strlen(c);
    int byte = (unsigned char)*c;
    bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');

    if (mods & MOD_SHIFT && !letter)
        return -EINVAL;
    if (mods & MOD_CTRL) {
        byte = len == 1 ? control_of((unsigned char)*c) : -EINVAL;
        return byte < 0 ? byte : put_byte(out, byte, mods);
    }
    if (mods & MOD_SHIFT)
        return put_byte(out, byte & ~0x20, mods);
    return put_escaped(out, c, len, mods);
}

/* Enter, Tab, Esc, Space, Backspace: modifiers have an effect only where xterm gives them one. */
static int encode_byte(struct buf *out, int byte, int mods)
{
    if (byte == '\t' && mods & MOD_SHIFT)
        return put_escaped(out, "\033[Z", 3, mods);
    if (byte == ' ' && mods & MOD_CTRL)
        byte = 0;
    if (byte == 0x7F && mods & MOD_CTRL)
        byte = '\b';
    return put_byte(out, byte, mods);
}

static int encode_key(struct buf *out, const struct key *key, int mods, bool app_cursor)
{
    bool ss3 = key->kind == KEY_PF || (key->kind == KEY_CURSOR && app_cursor);

    mods |= key->mods;
    if (key->kind == KEY_BYTE)
        return encode_byte(out, key->code, mods);
    if (key->kind == KEY_NUMBER && mods)
        buf_printf(out, "\033[%d;%d~", key->code, 1 + mods);
    else if (key->kind == KEY_NUMBER)
        buf_printf(out, "\033[%d~", key->code);
    else if (mods)
        buf_printf(out, "\033[1;%d%c", 1 + mods, key->code);
    else
        buf_printf(out, "\033%c%c", ss3 ? 'O' : '[', key->code);
    return 0;
}

static bool is_one_char(const char *s)
{
    unsigned char lead = (unsigned char)*s;
    size_t len = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;

    return lead != 0 && strlen(s) == len && utf8_is_valid(s, len);
}

int keys_encode(struct buf *out, const char *name, bool app_cursor)
{
    const struct key *key;
    int mods = 0, mod;

    while ((mod = take_modifier(&name)) != 0)
        mods |= mod;
    if (is_one_char(name))
        return encode_char(out, name, mods);
    key = key_find(name);
    return key != NULL ? encode_key(out, key, mods, app_cursor) : -EINVAL;
}
