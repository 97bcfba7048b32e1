/* SPDX-License-Identifier: Apache-2.0 */
/*
 * braces.h - a braced initialiser that a macro stands for
 *
 * #define ROW(name) BRACES(name, 0): written as bare braces, the versions of clang-format
 * do not agree whether they are a block or a list. Layer: base.
 */
#ifndef HF_BASE_BRACES_H
#define HF_BASE_BRACES_H

/* clang-format off */
#define BRACES(...) {__VA_ARGS__}
/* clang-format on */

#endif
