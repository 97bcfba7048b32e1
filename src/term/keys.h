/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.h - encodes named keys as the bytes that xterm sends for them
 *
 * A name is a key with modifiers before it: "Enter", "Ctrl-C", "Alt-Left", "Ctrl-Alt-x",
 * "Shift-Tab", "F12", "C-c", "M-x", "S-Up", or any single character. Names and modifiers are
 * accepted in any case and with "-" or "+" between; a character stands for itself ("Alt-X" is not
 * "Alt-x"). Layer: term.
 */
#ifndef HF_TERM_KEYS_H
#define HF_TERM_KEYS_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * Appends the bytes of one key. `app_cursor`: the terminal is in application cursor mode (DECCKM),
 * which changes arrows, Home and End. -EINVAL: no such key, or a key that sends no bytes (Ctrl-1,
 * Shift-3); nothing is appended.
 */
int keys_encode(struct buf *out, const char *name, bool app_cursor);

#endif
