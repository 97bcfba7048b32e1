/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sound_spawn.h - a request to start a process that has no fault, for tests to spoil
 */
#ifndef HF_TESTS_UNIT_KEEPER_SOUND_SPAWN_H
#define HF_TESTS_UNIT_KEEPER_SOUND_SPAWN_H

#include <string.h>

#include "keeper/keeper_proto.h"

static union {
    struct k_spawn m;
    char bytes[sizeof(struct k_spawn) + K_INLINE_MAX + 16];
} room;

static const char strings[] = "/tmp\0/bin/a\0/bin/b\0a\0-x\0A=1";

static size_t sound_spawn(void)
{
    memset(&room, 0, sizeof room);
    room.m.type = K_SPAWN;
    strcpy(room.m.id, "proc_abc123");
    room.m.pty = 1;
    room.m.rows = 24;
    room.m.cols = 80;
    room.m.path_count = 2;
    room.m.arg_count = 2;
    room.m.env_count = 1;
    room.m.strings_len = sizeof strings;
    memcpy(&room.m + 1, strings, sizeof strings);
    return sizeof room.m + sizeof strings;
}

#endif
