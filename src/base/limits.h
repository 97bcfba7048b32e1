/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.h - the limits that several parts share, each with its unit, default and reason
 *
 * Those that an operator may change are fields of the option structs and default to these values.
 * A dialect keeps the limits of its own in dialects/NAME/NAME_limits.h.
 * Layer: base.
 */
#ifndef HF_BASE_LIMITS_H
#define HF_BASE_LIMITS_H

/* --- transport --- */
#define LIMIT_HEADER_BYTES (32 * 1024) /* request line and headers together */
#define LIMIT_HEADER_COUNT 100
#define LIMIT_URI_BYTES (16 * 1024)
#define LIMIT_JSON_BODY_BYTES (1024 * 1024) /* JSON bodies; 413 beyond */
#define LIMIT_INPUT_BODY_BYTES (1LL << 40)  /* raw input is streamed, so this is large */
#define LIMIT_CONNECTIONS 4096
/* Connections reserved for callers with the role own, so that weaker ones cannot lock them out.
 * At most an eighth of the limit. */
#define LIMIT_CONNECTIONS_RESERVED 64
/* Extra connections for root and the daemon's own user at a unix socket: a way in when all
 * others are in use. */
#define LIMIT_CONNECTIONS_LOCAL 64
/* When connections run short, an address that has more than this part of them (1/N) without a
 * token loses its own first. */
#define LIMIT_ADDRESS_PART 4
/* At most this part (1/N) of the descriptors is for connections; processes need the others. */
#define LIMIT_DESCRIPTOR_PART 2
/*
 * Memory that peers make the server use: headers and bodies of unfinished requests, unread replies,
 * fragmented messages. All peers together; beyond it a caller with the role own gets 503 for a
 * body.
 */
#define LIMIT_HELD_BYTES (64 << 20)
/* The same for callers with weaker roles: beyond it the connection that uses most is closed. */
#define LIMIT_HELD_WEAK_BYTES (16 << 20)
#define LIMIT_HELD_UNTRUSTED_BYTES (8 << 20) /* the same for peers without a token */
#define LIMIT_PUBLIC_BODY_BYTES (64 * 1024)  /* a body from a caller without a token */
#define LIMIT_WATCH_BODY_BYTES (64 * 1024)   /* from the role watch: a query, never data */
#define LIMIT_TYPE_BODY_BYTES (1024 * 1024)  /* from the role type, where it is not streamed */
/* What TLS and HTTP/2 use for one connection, measured and rounded up; counted until the peer is
 * trusted. */
#define TLS_CONNECTION_BYTES (48 * 1024)
#define H2_CONNECTION_BYTES (16 * 1024)
#define INFLATE_BYTES (44 * 1024)   /* of zlib, for a compressed incoming stream */
#define LIMIT_REQUEST_HEAD_MS 10000 /* accept, or first byte, to the end of the headers */
#define LIMIT_REQUEST_BODY_MS 30000 /* without progress in the body */
#define LIMIT_KEEPALIVE_MS 75000    /* idle between requests */
#define LIMIT_STALL_MS 60000        /* a peer that stops reading its response is disconnected */
#define LIMIT_LINGER_MS 2000        /* what a refused peer still sends is discarded */
#define LIMIT_CONN_OUT_BYTES (512 * 1024)  /* unsent control data before a peer is dropped */
#define LIMIT_LENT_SLICE_BYTES (16 * 1024) /* buffered of a lent body, if the peer stops reading */
/* What HTTP connections may do in one turn of the loop, together if several want more. A request
 * takes about 20 us and a mebibyte 300, so a turn stays in single milliseconds. */
#define LIMIT_H2_TURN_REQUESTS 32
#define LIMIT_TURN_BYTES (512 * 1024)
#define LIMIT_H2_STREAMS 128                      /* concurrent requests on one HTTP/2 connection */
#define LIMIT_H2_STREAM_WINDOW_BYTES (256 * 1024) /* of a body, buffered for a paused reader */
#define LIMIT_H2_WINDOW_BYTES (1024 * 1024)       /* of all bodies of a connection in flight */
#define LIMIT_H2_OUT_BYTES (64 * 1024)            /* of a response or a socket; then writers wait */
#define LIMIT_H2_QUEUE 1024                       /* frames queued for a peer; then it is dropped */
#define LIMIT_H2_ACKS 1000                        /* of them replies to PING and SETTINGS */
#define LIMIT_H2_CLOSED 64                        /* closed streams that a connection remembers */
#define LIMIT_H2_RESETS 128               /* requests cancelled in a burst: all that may be open */
#define LIMIT_H2_RESETS_PER_S 33          /* and over time */
#define LIMIT_WS_TEXT_BYTES (64 * 1024)   /* one text message */
#define LIMIT_WS_FRAME_BYTES (64LL << 20) /* one binary frame; streamed, never buffered whole */
#define WS_PING_MS 20000                  /* twice within the 60 s that proxies allow */
#define WS_PONG_MS 40000
#define WS_CLOSE_MS 5000       /* wait for the peer's close frame */
#define LIMIT_SHUTDOWN_MS 5000 /* streams get this long to end */
/*
 * How much is read from a connection in one turn depends on what its bytes cost: thousands of tiny
 * requests or frames fit in one read, and other connections wait until all of them are handled.
 */
#define CONN_READ_FIRST_BYTES 4096 /* the first read: most requests are shorter */
#define CONN_READ_LEAST_BYTES 256  /* the smallest: a few requests, or dozens of frames */
#define CONN_READ_FAST_US 250      /* a full read handled in less time doubles the next */
#define CONN_READ_SLOW_US 500      /* one that takes longer halves it */
#define CONN_READ_LATE_MS 5        /* after this time in a turn, only a part is read */
#define CONN_READ_LATE_PART 8      /* an eighth */

/* --- keeper --- */
#define LIMIT_RELOAD_MS 5000            /* reloading tokens and certificates: a file may hang */
#define LIMIT_UPGRADE_CHECK_MS 5000     /* a new binary that has not passed its trial is refused */
#define LIMIT_UPGRADE_REPORT_BYTES 1024 /* of its output in the log; the rest is dropped */
#define LIMIT_WRITE_WAIT_MS 1000        /* io_write_all() waits this long for room */
#define LIMIT_VAULT_SEND_MS 2000     /* the keeper waits this long for a vault that does not read */
#define LIMIT_VAULT_SHORTAGE_MS 50   /* or this long for the kernel, while clients wait for it */
#define LIMIT_PATIENCE_MS 500        /* a keeper that takes over retries this long for memory */
#define LIMIT_PEM_BYTES (256 * 1024) /* a certificate chain, a private key */

/* --- gateway --- */
#define LIMIT_POOL 1024           /* idle connections kept to sandboxes */
#define LIMIT_POOL_PER_ADDRESS 32 /* of them to one address */
#define GATEWAY_CONNECT_MS 5000   /* a sandbox that accepts no connection: 502 */
#define GATEWAY_REPLY_MS 600000 /* a sandbox that sends no response: 504; long polls are allowed */
#define GATEWAY_POOL_MS 4000    /* under the 5 s after which Node.js disconnects */
#define GATEWAY_DRAIN_MS 30000  /* time for streams to end when a worker is replaced */
#define LIMIT_AUTH_CACHE 4096   /* cached responses of the auth hook */
#define GATEWAY_AUTH_CACHE_MS 5000
#define LIMIT_GATEWAY_CONNECTIONS 65536 /* of one worker */
/* Headers of requests not yet admitted, per worker: room for thousands that wait for the auth
 * hook. Beyond it the connection that uses most is closed. */
#define LIMIT_GATEWAY_HELD_BYTES (64 << 20)
#define LIMIT_GATEWAY_LOOKUPS 256       /* concurrent Redis lookups of one worker; then 503 */
#define LIMIT_GATEWAY_MISSES 1024       /* ids known not to exist */
#define GATEWAY_MISS_MS 1000            /* for this long, unless a message names them */
#define REGISTRATION_TTL_MAX_MS 3600000 /* the longest that an entry in Redis is valid */
#define REGISTRATION_SKEW_MS 60000      /* allowed clock difference of sandbox and gateway */
/* --- heavy work (base/work.h) --- */
#define WORK_TURN_US 4000  /* for all of it per turn: several turns fit into the 50 ms of a probe */
#define WORK_SLICE_US 1000 /* for one item: four items per turn */
#define TURN_LONG_MS 5     /* after this long a turn calls no more request handlers */
/* --- the command line --- */
#define LIMIT_CLIENT_REPLY_BYTES (64 << 20)   /* a response buffered whole: a list, a screen */
#define LIMIT_CLIENT_INPUT_BYTES (256 * 1024) /* typed or piped, not yet accepted by the daemon */
#define LIMIT_CLIENT_EVENT_BYTES (4 << 20)    /* one server-sent event */
/* One message on the standard input of `holdfast mcp`: more than the daemon accepts, so that the
 * daemon's error is the reply and names the limit that matters. */
#define LIMIT_CLIENT_MCP_LINE_BYTES (4 << 20)
#define LIMIT_CLIENT_MCP_CALLS 256             /* its messages without a reply: a connection each */
#define LIMIT_CLIENT_MCP_BATCH 100             /* messages in one line */
#define LIMIT_CLIENT_MCP_HELD_BYTES (16 << 20) /* of messages without a reply */
#define LIMIT_CLIENT_MCP_OUT_BYTES (1 << 20)   /* not yet read by its client: reads no more */

/* --- engine --- */
#define LIMIT_PROCESSES 1024      /* running */
#define LIMIT_VIEWERS 1024        /* per process */
#define LIMIT_VIEWERS_KEPT_PART 8 /* an eighth of them is not available to links and watchers */
#define LIMIT_JOURNAL_BYTES (1024 * 1024) /* ring of one process, default */
#define LIMIT_JOURNAL_MIN_BYTES (64 * 1024)
#define LIMIT_JOURNAL_MAX_BYTES (256LL << 20)
#define LIMIT_JOURNAL_MEMORY_BYTES (2LL << 30) /* all rings together */
#define LIMIT_HISTORY_MAX_BYTES (16LL << 30)   /* ring of one process in a file */
#define LIMIT_HISTORY_DISK_BYTES (8LL << 30)   /* all of those together */
/* Output waits this long for a client that was cut off: longer than a reconnect takes, too short
 * for a person to notice. */
#define LIMIT_CLAIM_MS 2000
#define LIMIT_CLAIMS 8          /* reservations of one process for clients that were cut off */
#define WS_RECEIPT_MS 1000      /* a WebSocket peer must send its pong within this time */
#define WS_RECEIPT_INPUT_MS 100 /* the same if its input waits for room */
#define LIMIT_INPUT_BYTES (1024 * 1024)     /* `input` of a create request */
#define LIMIT_INPUT_QUEUE_BYTES (64 * 1024) /* queued beyond that; then senders wait */
#define LIMIT_INPUT_CLIENTS 16              /* client ids remembered per process: the owner's, */
#define LIMIT_INPUT_GUESTS 16               /* and as many of all other grants together */
#define LIMIT_LIVE_PROCESSES 1024           /* of the machine, read from /proc for their usage */
#define LIMIT_RETAINED 256                  /* records of exited processes kept */
#define LIMIT_RETAIN_MS (60LL * 60 * 1000)  /* and for how long */
#define LIMIT_ARGS 4096
#define LIMIT_ENV 4096
#define LIMIT_TAG_BYTES 128
#define LIMIT_LABEL_BYTES 1024
#define LIMIT_METADATA_BYTES (16 * 1024)
#define LIMIT_EVENT_LOG_BYTES (256 * 1024)
#define LIMIT_NOTES_BYTES (64 * 1024) /* state that platforms' clients set on the daemon */
#define LIMIT_WAITS 1024              /* concurrent waiting requests */
#define WAIT_OVERTIME_MS 250          /* to search the output that existed at the deadline */
#define LIMIT_WAITS_KEPT_PART 8       /* an eighth of them is not available to links and watchers */
#define LIMIT_RUN_OUTPUT_BYTES (1024 * 1024) /* default of max_output_bytes */
#define LIMIT_RUN_OUTPUT_MAX_BYTES (64LL << 20)
#define LIMIT_SESSIONS 128
#define LIMIT_SESSION_QUEUE 64                   /* queued commands of one session */
#define LIMIT_SESSION_COMMAND_BYTES (128 * 1024) /* one command, and its input: both, with */
#define LIMIT_SESSION_INPUT_BYTES (128 * 1024)   /* escapes, are in the shell's input queue */
#define SESSION_LOG_BYTES (1024 * 1024)          /* the transcript of one session */
#define SESSION_LOG_COMMANDS 500
#define SESSION_LOG_COMMAND_BYTES (16 * 1024) /* of one command's text in the transcript */
#define SESSION_LOG_OUTPUT_BYTES (16 * 1024)  /* of its output: half head, half tail */
#define LIMIT_TRANSCRIPT_BYTES (1024 * 1024)  /* of output in one response */
#define LIMIT_REGEX_BYTES 4096
#define LIMIT_REGEX_STATES 4096
#define LIMIT_TEXT_BYTES 4096 /* a text to wait for */
#define LIMIT_LINKS 64        /* share links of one process */
#define LIMIT_LINK_LABEL_BYTES 256
#define LIMIT_LINK_USES 1000000000           /* max_uses */
#define LINK_EXPIRES_MS (24LL * 3600 * 1000) /* by default */
#define LINK_POLL_MS (3600LL * 1000) /* expiry is checked this often: the wall clock may be set */
#define LIMIT_NAME_BYTES 128         /* the name that a viewer chooses */
#define LEASE_GRACE_MS 5000          /* for its holder to come back */
#define LIMIT_DURATION_MS (366LL * 24 * 3600 * 1000)
#define TERMINAL_SIZE_MAX 4096
#define SIZE_DEBOUNCE_MS 50  /* dragging a window resizes the terminal at most this often */
#define SIZE_LEAVE_MS 250    /* for a reconnect, before the windows of others count */
#define SCREEN_IDLE_MS 60000 /* an unused screen is dropped */
/* Of a screen: a larger terminal is shown with fewer lines. No monitor has half as many, and a
 * screen with all of them filled, twice over (main and alternate), takes about 20 MB. */
#define LIMIT_SCREEN_CELLS (512 * 1024)
#define LIMIT_SCROLLBACK_LINES 1000              /* per screen; the default of xterm.js */
#define LIMIT_SCROLLBACK_BYTES (4 * 1024 * 1024) /* of its cells: fewer lines if it is wide */
#define LIMIT_SCREEN_TEXTS 4096                  /* different characters with combining marks */
#define LIMIT_SCREEN_LINKS 512                   /* different OSC 8 links */
#define LIMIT_SCREEN_LINK_BYTES 2048             /* of one */
#define VIEWER_SLICE_BYTES (256 * 1024)          /* largest frame */
#define EXIT_QUIET_MS 20                         /* no output for this long after the exit: done */
#define EXIT_DRAIN_MAX_MS 250 /* the exit is reported by then, whatever still writes */
#define ATTENTION_FIRST_MS 30 /* a terminal silent for this long is probed */
#define TTY_ACTIVITY_PROBES 4 /* and again, each time ATTENTION_FACTOR later: about 4 s in all */
#define ATTENTION_FACTOR 3
#define ATTENTION_PATIENCE 16      /* one that is never silent is probed after this many */
#define ATTENTION_WATCH_FIRST_MS 5 /* the same while a request waits for the result */
#define ATTENTION_WATCH_MAX_MS 250 /* and probing continues */
#define PORTS_FIRST_MS 10          /* first interval of probing a port; doubles */
#define PORTS_MAX_MS 250
#define KILL_GRACE_MS 5000
#define KILL_VERIFY_MS 2000 /* after SIGKILL, until survivors are reported */

/* --- files, for dialects that have them --- */
#define LIMIT_FILE_LIST 10000                    /* entries in one listing */
#define LIMIT_FILE_DEPTH 64                      /* and its depth */
#define LIMIT_FILE_REPLY_BYTES (8 * 1024 * 1024) /* size of such a listing */
#define LIMIT_FILE_BYTES (1LL << 40)             /* an upload is streamed, so this is large */
#define LIMIT_TAR_ENTRIES 100000                 /* in an archive to unpack */
#define LIMIT_UNPACK_DIRECTORY_BYTES (16 << 20)  /* their paths and permissions, until its end */
#define LIMIT_TREE_ENTRIES 1000000               /* copied, packed or searched in one request */
#define LIMIT_TRANSFERS 256                      /* file operations of one dialect at a time */
#define LIMIT_GATHER_BYTES (64 << 20)   /* files that one dialect holds at a time, for JSON */
#define GATHER_SMALL_BYTES (64 * 1024)  /* a file that is held in any case */
#define LIMIT_SEARCH_RESULTS 1000       /* of one search */
#define LIMIT_SEARCH_MS 30000           /* then it returns what it has found */
#define LIMIT_SEARCH_PATTERN_BYTES 4096 /* a name, a text or an expression */
#define LIMIT_REPLACE_BYTES (64 * 1024 * 1024) /* a file in which text is replaced */
#define LIMIT_REPLACE_TEXT_BYTES (64 * 1024)   /* the texts: arguments of a process */
#define TRANSFER_RING_BYTES (256 * 1024)       /* between a file operation and its client */

/* --- watching files; one watch is one process of the user --- */
#define LIMIT_FILE_WATCHES 100 /* the kernel allows a user 128 (fs.inotify.max_user_instances) */
#define LIMIT_FILE_WATCHES_CLIENT 64 /* of one address, so that it cannot use all of them */
#define LIMIT_FILE_WATCH_DIRS 65536  /* of one watch: some 10 MiB, and 64 MiB of the kernel's */
#define LIMIT_FILE_WATCH_PATH_BYTES (16 * 1024)   /* in a change; four times PATH_MAX */
#define LIMIT_FILE_WATCH_LINE_BYTES (256 * 1024)  /* of a report: two such paths, escaped */
#define LIMIT_FILE_WATCH_QUEUE_BYTES (256 * 1024) /* of changes for a client that polls */
#define FILE_WATCH_STALE_MS (10LL * 60 * 1000) /* not polled for so long: makes room for another */

#endif
