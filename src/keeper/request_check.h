/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_check.h - checks that a packet from the worker is a well-formed message
 *
 * Pure functions over bytes: no descriptors, no table, so that a fuzzer can run them. requests.c
 * checks whether an entry exists. Layer: keeper.
 */
#ifndef HF_KEEPER_REQUEST_CHECK_H
#define HF_KEEPER_REQUEST_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keeper/keeper_proto.h"

#define MESSAGE_MAX (sizeof(struct k_spawn) + K_INLINE_MAX)

/*
 * NULL if `bytes` (aligned for the structs) are a well-formed message of the worker with that many
 * descriptors, else a word that names the fault. Of the strings of K_SPAWN only the length is
 * checked.
 */
const char *request_check_fault(const void *bytes, size_t len, size_t fd_count);

/*
 * Sets `at` to the beginnings of exactly `count` NUL-terminated strings that
 * fill `strings`. False if they do not.
 */
bool request_check_split(char *strings, size_t len, char **at, size_t count);

/* How many strings a well-formed K_SPAWN has: cwd, paths, arguments, variables. */
size_t request_check_string_count(const struct k_spawn *m);

#endif
