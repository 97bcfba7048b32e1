/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_handlers.h - one handler per row of the native route table. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_NATIVE_HANDLERS_H
#define HF_DIALECTS_NATIVE_NATIVE_HANDLERS_H

#include "transport/http.h"

/* native_routes.c */
extern const struct route native_route_list[];
extern const size_t native_route_count;

http_handler create_handle;         /* create_process.c */
http_handler run_handle;            /* run_process.c */
http_handler list_handle;           /* list_processes.c */
http_handler process_get_handle;    /* get_process.c */
http_handler patch_handle;          /* patch_process.c */
http_handler remove_handle;         /* remove_process.c */
http_handler signal_handle;         /* signal_process.c */
http_handler resize_handle;         /* resize_process.c */
http_handler input_handle;          /* write_input.c */
http_handler output_handle;         /* get_output.c */
http_handler recording_handle;      /* recording.c */
http_handler screen_handle;         /* get_screen.c */
http_handler wait_exit_handle;      /* wait_exit.c */
http_handler wait_handle;           /* wait_conditions.c */
http_handler connect_handle;        /* connect.c */
http_handler terminal_handle;       /* start_terminal.c */
http_handler events_handle;         /* events_sse.c */
http_handler healthz_handle;        /* native_info.c */
http_handler readyz_handle;         /* native_info.c */
http_handler info_handle;           /* native_info.c */
http_handler activity_handle;       /* native_info.c */
http_handler openapi_handle;        /* native_info.c */
http_handler upgrade_handle;        /* native_info.c */
http_handler token_handle;          /* native_token.c */
http_handler reload_handle;         /* native_token.c */
http_handler links_make_handle;     /* share_links.c */
http_handler links_list_handle;     /* share_links.c */
http_handler links_remove_handle;   /* share_links.c */
http_handler metrics_handle;        /* native_metrics.c */
http_handler tickets_handle;        /* create_ticket.c */
http_handler page_handle;           /* serve_page.c */
http_handler session_create_handle; /* manage_sessions.c */
http_handler session_list_handle;
http_handler session_get_handle;
http_handler session_delete_handle;
http_handler session_run_handle;        /* run_in_session.c */
http_handler session_transcript_handle; /* session_transcript.c */

#endif
