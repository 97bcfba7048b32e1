/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safecut.h - where a terminal's output may be cut so that the rest is displayed correctly
 *
 * A viewer that starts in the middle must not start inside a character or an escape sequence: half
 * of "\033[31m" would be shown as text. A token is one UTF-8 character, one control byte or one
 * whole sequence (CSI; OSC, DCS, APC, PM, SOS strings; two-byte and charset escapes; SS2 and SS3
 * with the character they shift). Pure functions. Layer: engine.
 */
#ifndef HF_ENGINE_JOURNAL_SAFECUT_H
#define HF_ENGINE_JOURNAL_SAFECUT_H

#include <stdbool.h>
#include <stddef.h>

/* Pass this many bytes before the desired cut, if they are held. */
#define SAFECUT_LOOK_BACK_BYTES 4096
/* At most this much is skipped after the desired cut. */
#define SAFECUT_SKIP_MAX_BYTES 4096

/*
 * The first border between tokens at or after `want` (<= held_len) in the held
 * bytes. `from_start`: held[0] is the first byte the process ever wrote, so no
 * token was open there; otherwise nothing is known about what came before.
 *
 * Three results are special:
 * - The token around `want` is known, but does not end within
 *   SAFECUT_SKIP_MAX_BYTES (an image, or it is still incomplete): the result
 *   is its start, which may be before `want`. The viewer then gets it whole.
 * - The terminal's state stays unknown up to that many bytes after `want`:
 *   `want` itself, moved only out of a UTF-8 character.
 * - want == held_len at a border: held_len.
 */
size_t safecut_find(const void *held, size_t held_len, size_t want, bool from_start);

/* How many bytes to skip at the front when nothing is known about what precedes them. */
size_t safecut_forward(const void *bytes, size_t len);

#endif
