/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handlers.h - one handler per row of the native route table. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_HANDLERS_H
#define HF_DIALECTS_NATIVE_HANDLERS_H

#include "transport/http.h"

/* routes.c */
extern const struct route native_route_list[];
extern const size_t native_route_count;

http_handler create_handle;         /* create.c */
http_handler run_handle;            /* run.c */
http_handler list_handle;           /* list.c */
http_handler process_get_handle;    /* process_get.c */
http_handler patch_handle;          /* patch.c */
http_handler remove_handle;         /* remove.c */
http_handler signal_handle;         /* signal.c */
http_handler resize_handle;         /* resize.c */
http_handler input_handle;          /* input.c */
http_handler output_handle;         /* output.c */
http_handler recording_handle;      /* recording.c */
http_handler screen_handle;         /* screen.c */
http_handler wait_exit_handle;      /* wait_exit.c */
http_handler wait_handle;           /* wait.c */
http_handler connect_handle;        /* connect.c */
http_handler terminal_handle;       /* terminal.c */
http_handler events_handle;         /* events.c */
http_handler healthz_handle;        /* info.c */
http_handler readyz_handle;         /* info.c */
http_handler info_handle;           /* info.c */
http_handler activity_handle;       /* info.c */
http_handler openapi_handle;        /* info.c */
http_handler upgrade_handle;        /* info.c */
http_handler token_handle;          /* token.c */
http_handler reload_handle;         /* token.c */
http_handler links_make_handle;     /* links.c */
http_handler links_list_handle;     /* links.c */
http_handler links_remove_handle;   /* links.c */
http_handler metrics_handle;        /* metrics.c */
http_handler tickets_handle;        /* tickets.c */
http_handler page_handle;           /* page.c */
http_handler session_create_handle; /* session.c */
http_handler session_list_handle;
http_handler session_get_handle;
http_handler session_delete_handle;
http_handler session_run_handle;        /* session_run.c */
http_handler session_transcript_handle; /* session_transcript.c */

#endif
