/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_handlers.h - one handler per row of the native route table. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_NATIVE_HANDLERS_H
#define HF_DIALECTS_NATIVE_NATIVE_HANDLERS_H

#include "dialects/common/route_group.h"
#include "engine/process.h"

/* native_routes.c */
extern const struct route_group native_route_groups[];

/* Replies, or returns a negative errno with the error that is the reply. */
typedef int native_handler(struct http_request *rq, struct hf_error *err);
/* The same for the process that {id} names. */
typedef int native_process_handler(struct http_request *rq, struct process *p,
                                   struct hf_error *err);

native_handler create_handle;               /* create_process.c */
native_handler run_handle;                  /* run_process.c */
native_handler list_handle;                 /* list_processes.c */
native_process_handler process_get_handle;  /* list_processes.c */
native_process_handler patch_handle;        /* patch_process.c */
native_process_handler remove_handle;       /* remove_process.c */
native_process_handler signal_handle;       /* signal_process.c */
native_process_handler resize_handle;       /* patch_process.c */
native_process_handler input_handle;        /* write_input.c */
native_process_handler output_handle;       /* get_output.c */
native_process_handler recording_handle;    /* recording.c */
native_process_handler screen_handle;       /* get_screen.c */
native_process_handler wait_exit_handle;    /* wait_conditions.c */
native_process_handler wait_handle;         /* wait_conditions.c */
native_process_handler links_make_handle;   /* share_links.c */
native_process_handler links_list_handle;   /* share_links.c */
native_process_handler links_remove_handle; /* share_links.c */
http_handler connect_handle;                /* connect.c */
http_handler terminal_handle;               /* start_terminal.c */
http_handler events_handle;                 /* events_sse.c */
http_handler files_watch_handle;            /* files_watch.c */
http_handler healthz_handle;                /* native_info.c */
native_handler readyz_handle;               /* native_info.c */
http_handler info_handle;                   /* native_info.c */
http_handler activity_handle;               /* native_info.c */
http_handler openapi_handle;                /* native_info.c */
native_handler upgrade_handle;              /* native_info.c */
http_handler token_handle;                  /* native_token.c */
native_handler reload_handle;               /* native_token.c */
http_handler metrics_handle;                /* native_metrics.c */
native_handler tickets_handle;              /* serve_page.c */
http_handler page_handle;                   /* serve_page.c */
native_handler session_create_handle;       /* manage_sessions.c */
native_handler session_list_handle;         /* manage_sessions.c */
native_handler session_get_handle;          /* manage_sessions.c */
native_handler session_delete_handle;       /* manage_sessions.c */
native_handler session_run_handle;          /* run_in_session.c */
native_handler session_transcript_handle;   /* session_transcript.c */
native_handler file_content_get_handle;     /* file_content.c */
native_handler file_content_put_handle;     /* file_content.c */
native_handler file_archive_get_handle;     /* file_archive.c */
native_handler file_archive_put_handle;     /* file_archive.c */
native_handler file_stat_handle;            /* file_tree.c */
native_handler file_list_handle;            /* file_tree.c */
native_handler file_mkdir_handle;           /* file_tree.c */
native_handler file_move_handle;            /* file_tree.c */
native_handler file_copy_handle;            /* file_tree.c */
native_handler file_permissions_handle;     /* file_tree.c */
native_handler file_search_handle;          /* file_search.c */
native_handler file_replace_handle;         /* file_search.c */
native_handler file_delete_handle;          /* file_tree.c */

#endif
