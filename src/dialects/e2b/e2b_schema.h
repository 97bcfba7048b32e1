/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_schema.h - the messages of process.Process and filesystem.Filesystem. Layer: dialects.
 */
#ifndef HF_DIALECTS_E2B_E2B_SCHEMA_H
#define HF_DIALECTS_E2B_E2B_SCHEMA_H

#include "dialects/e2b/e2b_pb_json.h"

extern const struct pb_message e2b_empty;
extern const struct pb_message e2b_start_request;
extern const struct pb_message e2b_select_request; /* Connect, CloseStdin */
extern const struct pb_message e2b_update_request;
extern const struct pb_message e2b_input_request;
extern const struct pb_message e2b_stream_input_request;
extern const struct pb_message e2b_signal_request;
extern const struct pb_message e2b_list_response;

extern const struct pb_message e2b_path_request; /* Stat, MakeDir, Remove */
extern const struct pb_message e2b_list_dir_request;
extern const struct pb_message e2b_move_request;
extern const struct pb_message e2b_entry_response;
extern const struct pb_message e2b_entries_response;

extern const struct pb_message e2b_watch_request;  /* WatchDir, CreateWatcher */
extern const struct pb_message e2b_watch_response; /* of WatchDir */
extern const struct pb_message
    e2b_watcher; /* CreateWatcher's reply; GetWatcherEvents, RemoveWatcher */
extern const struct pb_message e2b_watcher_events;

#endif
