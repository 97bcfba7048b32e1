/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_schema.c - the tables of process.Process and filesystem.Filesystem. Layer: dialects.
 */
#include "dialects/e2b/e2b_schema.h"

#include "base/braces.h"

#define MESSAGE(name, ...)                                                                         \
    static const struct pb_field name##_fields[] = {__VA_ARGS__};                                  \
    const struct pb_message e2b_##name = {name##_fields,                                           \
                                          sizeof name##_fields / sizeof *name##_fields}
#define PART(name, ...)                                                                            \
    static const struct pb_field name##_fields[] = {__VA_ARGS__};                                  \
    static const struct pb_message name = {name##_fields,                                          \
                                           sizeof name##_fields / sizeof *name##_fields}
#define FIELD(n, text, k, ...) BRACES(.number = (n), .name = (text), .kind = PB_##k, __VA_ARGS__)

const struct pb_message e2b_empty = {NULL, 0};

/* --- process.Process --- */

static const struct pb_name signals[] = {
    {"SIGNAL_UNSPECIFIED", 0},
    {"SIGNAL_SIGKILL", 9},
    {"SIGNAL_SIGTERM", 15},
    {NULL, 0},
};

PART(size, FIELD(1, "cols", U32), FIELD(2, "rows", U32));
PART(pty, FIELD(1, "size", MESSAGE, .message = &size));
PART(config, FIELD(1, "cmd", TEXT), FIELD(2, "args", TEXT, .many = true), FIELD(3, "envs", MAP),
     FIELD(4, "cwd", TEXT));
PART(selector, FIELD(1, "pid", U32, .oneof = 1), FIELD(2, "tag", TEXT, .oneof = 1));
PART(input, FIELD(1, "stdin", BYTES, .oneof = 1), FIELD(2, "pty", BYTES, .oneof = 1));
PART(input_start, FIELD(1, "process", MESSAGE, .message = &selector));
PART(input_data, FIELD(2, "input", MESSAGE, .message = &input));
PART(info, FIELD(1, "config", MESSAGE, .message = &config), FIELD(2, "pid", U32),
     FIELD(3, "tag", TEXT));

MESSAGE(start_request, FIELD(1, "process", MESSAGE, .message = &config),
        FIELD(2, "pty", MESSAGE, .message = &pty), FIELD(3, "tag", TEXT), FIELD(4, "stdin", BOOL));
MESSAGE(select_request, FIELD(1, "process", MESSAGE, .message = &selector));
MESSAGE(update_request, FIELD(1, "process", MESSAGE, .message = &selector),
        FIELD(2, "pty", MESSAGE, .message = &pty));
MESSAGE(input_request, FIELD(1, "process", MESSAGE, .message = &selector),
        FIELD(2, "input", MESSAGE, .message = &input));
MESSAGE(stream_input_request, FIELD(1, "start", MESSAGE, .oneof = 1, .message = &input_start),
        FIELD(2, "data", MESSAGE, .oneof = 1, .message = &input_data),
        FIELD(3, "keepalive", MESSAGE, .oneof = 1, .message = &e2b_empty));
MESSAGE(signal_request, FIELD(1, "process", MESSAGE, .message = &selector),
        FIELD(2, "signal", ENUM, .names = signals), FIELD(3, "descendants", BOOL));
MESSAGE(list_response,
        FIELD(1, "processes", MESSAGE, .many = true, .ours = true, .message = &info));

/* --- filesystem.Filesystem --- */

static const struct pb_name types[] = {
    {"FILE_TYPE_UNSPECIFIED", 0},
    {"FILE_TYPE_FILE", 1},
    {"FILE_TYPE_DIRECTORY", 2},
    {"FILE_TYPE_SYMLINK", 3},
    {NULL, 0},
};

PART(timestamp, FIELD(1, "seconds", I64), FIELD(2, "nanos", U32));
PART(entry, FIELD(1, "name", TEXT), FIELD(2, "type", ENUM, .names = types), FIELD(3, "path", TEXT),
     FIELD(4, "size", I64), FIELD(5, "mode", U32), FIELD(6, "permissions", TEXT),
     FIELD(7, "owner", TEXT), FIELD(8, "group", TEXT),
     FIELD(9, "modifiedTime", TIME, .snake = "modified_time", .message = &timestamp),
     FIELD(10, "symlinkTarget", TEXT, .snake = "symlink_target"), FIELD(11, "metadata", MAP));

MESSAGE(path_request, FIELD(1, "path", TEXT));
MESSAGE(list_dir_request, FIELD(1, "path", TEXT), FIELD(2, "depth", U32));
MESSAGE(move_request, FIELD(1, "source", TEXT), FIELD(2, "destination", TEXT));
MESSAGE(entry_response, FIELD(1, "entry", MESSAGE, .message = &entry));
MESSAGE(entries_response,
        FIELD(1, "entries", MESSAGE, .many = true, .ours = true, .message = &entry));

/* --- watching --- */

static const struct pb_name event_types[] = {
    {"EVENT_TYPE_UNSPECIFIED", 0},
    {"EVENT_TYPE_CREATE", 1},
    {"EVENT_TYPE_WRITE", 2},
    {"EVENT_TYPE_REMOVE", 3},
    {"EVENT_TYPE_RENAME", 4},
    {"EVENT_TYPE_CHMOD", 5},
    {NULL, 0},
};

PART(file_event, FIELD(1, "name", TEXT), FIELD(2, "type", ENUM, .names = event_types),
     FIELD(3, "entry", MESSAGE, .message = &entry));

MESSAGE(watch_request, FIELD(1, "path", TEXT), FIELD(2, "recursive", BOOL),
        FIELD(3, "includeEntry", BOOL, .snake = "include_entry"),
        FIELD(4, "allowNetworkMounts", BOOL, .snake = "allow_network_mounts"));
MESSAGE(watch_response, FIELD(1, "start", MESSAGE, .oneof = 1, .message = &e2b_empty),
        FIELD(2, "filesystem", MESSAGE, .oneof = 1, .message = &file_event),
        FIELD(3, "keepalive", MESSAGE, .oneof = 1, .message = &e2b_empty));
MESSAGE(watcher, FIELD(1, "watcherId", TEXT, .snake = "watcher_id"));
MESSAGE(watcher_events,
        FIELD(1, "events", MESSAGE, .many = true, .ours = true, .message = &file_event));
