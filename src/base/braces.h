/* SPDX-License-Identifier: Apache-2.0 */
/*
 * braces.h - a braced initialiser as the body of a macro
 *
 * Usage: #define ROW(name) BRACES(name, 0). Versions of clang-format disagree on bare braces in a
 * macro: some format them as a block, some as a list. Layer: base.
 */
#ifndef HF_BASE_BRACES_H
#define HF_BASE_BRACES_H

/* clang-format off */
#define BRACES(...) {__VA_ARGS__}
/* clang-format on */

#endif
