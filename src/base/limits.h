/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.h - every bound with its unit, default and reason
 *
 * Those that an operator may change are fields of the option structs and
 * start from here. Layer: base.
 */
#ifndef HF_BASE_LIMITS_H
#define HF_BASE_LIMITS_H

/* --- transport --- */
#define LIMIT_HEADER_BYTES (32 * 1024) /* request line and headers together */
#define LIMIT_HEADER_COUNT 100
#define LIMIT_URI_BYTES (16 * 1024)
#define LIMIT_JSON_BODY_BYTES (1024 * 1024) /* JSON bodies; 413 beyond */
#define LIMIT_INPUT_BODY_BYTES (1LL << 40)  /* raw input is streamed, so large */
#define LIMIT_CONNECTIONS 4096
/* Of these, for callers with the role own, so that weaker ones cannot lock them out. At most an
 * eighth of the limit. */
#define LIMIT_CONNECTIONS_RESERVED 64
/* Beyond the limit, for root and the daemon's own user at a unix socket: the way in when all else
 * is taken. */
#define LIMIT_CONNECTIONS_LOCAL 64
/* When connections run short, an address that has more than this part of them (one in so many)
 * without a token loses its own first. */
#define LIMIT_ADDRESS_PART 4
/* At most this part of the descriptors is for connections; processes need the others. */
#define LIMIT_DESCRIPTOR_PART 2
/*
 * Memory that peers make the server hold: heads and bodies of unfinished requests, unread replies,
 * messages in parts. All peers together; beyond it a caller with the role own gets 503 for a body.
 */
#define LIMIT_HELD_BYTES (64 << 20)
/* Of callers with weaker roles: beyond it the connection that holds most of it is closed. */
#define LIMIT_HELD_WEAK_BYTES (16 << 20)
#define LIMIT_HELD_UNTRUSTED_BYTES (8 << 20) /* the same of peers that have shown no token */
#define LIMIT_PUBLIC_BODY_BYTES (64 * 1024)  /* a body from somebody without a token */
#define LIMIT_WATCH_BODY_BYTES (64 * 1024)   /* from the role watch: a question, never data */
#define LIMIT_TYPE_BODY_BYTES (1024 * 1024)  /* from the role type, where it is not streamed */
/* What TLS and HTTP/2 take for one connection, measured and rounded up; counted as held until the
 * peer is trusted. */
#define TLS_CONNECTION_BYTES (48 * 1024)
#define H2_CONNECTION_BYTES (16 * 1024)
#define INFLATE_BYTES (44 * 1024)          /* of zlib, for a stream that comes in compressed */
#define LIMIT_REQUEST_HEAD_MS 10000        /* accept, or first byte, to the end of the headers */
#define LIMIT_REQUEST_BODY_MS 30000        /* without progress in the body */
#define LIMIT_KEEPALIVE_MS 75000           /* idle between requests */
#define LIMIT_STALL_MS 60000               /* a peer that takes nothing of its answer is cut */
#define LIMIT_LINGER_MS 2000               /* what a refused peer still sends is read and dropped */
#define LIMIT_CONN_OUT_BYTES (512 * 1024)  /* unsent control data before a peer is given up */
#define LIMIT_LENT_SLICE_BYTES (16 * 1024) /* held of a lent body, for a peer that takes nothing */
/*
 * What connections of HTTP may do in one turn of the loop, together where several want more. A
 * request takes some 20 us and a mebibyte 300, so a turn stays in single milliseconds.
 */
#define LIMIT_H2_TURN_REQUESTS 32
#define LIMIT_TURN_BYTES (512 * 1024)
#define LIMIT_H2_STREAMS 128                      /* requests at once on one connection of HTTP/2 */
#define LIMIT_H2_STREAM_WINDOW_BYTES (256 * 1024) /* of a body, held for a reader that pauses */
#define LIMIT_H2_WINDOW_BYTES (1024 * 1024)       /* of all bodies of a connection, in flight */
#define LIMIT_H2_OUT_BYTES (64 * 1024)            /* of an answer or a socket; then writers wait */
#define LIMIT_H2_QUEUE 1024               /* frames for a peer that takes nothing: it is cut */
#define LIMIT_H2_ACKS 1000                /* of them answers to PING and SETTINGS */
#define LIMIT_H2_CLOSED 64                /* streams of a connection whose end is remembered */
#define LIMIT_H2_RESETS 128               /* requests taken back in one go: all that may be open */
#define LIMIT_H2_RESETS_PER_S 33          /* and over time */
#define LIMIT_WS_TEXT_BYTES (64 * 1024)   /* one text message */
#define LIMIT_WS_FRAME_BYTES (64LL << 20) /* one binary frame; streamed, never held whole */
#define WS_PING_MS 20000                  /* under the 60 s that proxies allow, twice over */
#define WS_PONG_MS 40000
#define WS_CLOSE_MS 5000       /* wait for the peer's close frame */
#define LIMIT_SHUTDOWN_MS 5000 /* streams get this long to end */
/*
 * How much is read from a connection in one turn depends on what its bytes cost: thousands of tiny
 * requests or frames fit into one read, and other connections wait until all of them are handled.
 */
#define CONN_READ_FIRST_BYTES 4096 /* the first read: most requests are shorter */
#define CONN_READ_LEAST_BYTES 256  /* the smallest: some requests, or some dozens of frames */
#define CONN_READ_FAST_US 250      /* a full read that was handled in less time doubles the next */
#define CONN_READ_SLOW_US 500      /* one that took longer halves it */
#define CONN_READ_LATE_MS 5        /* a turn that has taken so long reads only a part of it */
#define CONN_READ_LATE_PART 8      /* an eighth */

/* --- keeper --- */
#define LIMIT_RELOAD_MS 5000            /* reading tokens and certificates again: a file may hang */
#define LIMIT_UPGRADE_CHECK_MS 5000     /* a candidate that has not passed its trial is refused */
#define LIMIT_UPGRADE_REPORT_BYTES 1024 /* of what it says, in the log; the rest is dropped */
#define LIMIT_WRITE_WAIT_MS 1000        /* io_write_all() waits so long for room */
#define LIMIT_VAULT_SEND_MS 2000     /* the keeper waits so long for a vault that does not read */
#define LIMIT_PATIENCE_MS 500        /* and so long for memory or a descriptor when it takes over */
#define LIMIT_PEM_BYTES (256 * 1024) /* a certificate chain, a private key */

/* --- gateway --- */
#define LIMIT_POOL 1024           /* held connections to sandboxes */
#define LIMIT_POOL_PER_ADDRESS 32 /* of them to one address */
#define GATEWAY_CONNECT_MS 5000   /* a sandbox that does not answer a call: 502 */
#define GATEWAY_ANSWER_MS 600000  /* nor a request: 504; long polls are legal */
#define GATEWAY_POOL_MS 4000      /* under the 5 s after which Node.js hangs up */
#define GATEWAY_DRAIN_MS 30000    /* streams may end by themselves when a worker is replaced */
#define LIMIT_AUTH_CACHE 4096     /* answers of the auth hook */
#define GATEWAY_AUTH_CACHE_MS 5000
#define LIMIT_GATEWAY_CONNECTIONS 65536 /* of one worker */
/* Heads of requests that were not let in yet, of one worker: room for thousands that wait for the
 * auth hook. Beyond it the connection that holds most is closed. */
#define LIMIT_GATEWAY_HELD_BYTES (64 << 20)
#define LIMIT_GATEWAY_LOOKUPS 256       /* ids that one worker asks Redis for at once; then 503 */
#define LIMIT_GATEWAY_MISSES 1024       /* ids that it knows to be nobody's */
#define GATEWAY_MISS_MS 1000            /* for so long, unless a message names them */
#define REGISTRATION_TTL_MAX_MS 3600000 /* an entry in Redis says where a sandbox is for so long */
#define REGISTRATION_SKEW_MS 60000      /* clocks of sandbox and gateway may differ by so much */
/* --- heavy work (base/work.h) --- */
#define WORK_TURN_US                                                                               \
    4000 /* of all of it in one turn: several turns fit into the 50 ms of a probe */
#define WORK_SLICE_US 1000 /* of one item of it: four take turns in a turn */
#define TURN_LONG_MS 5     /* a turn that took so long calls no further handlers of requests */
/* --- the command line --- */
#define LIMIT_CLIENT_REPLY_BYTES (64 << 20)   /* an answer held whole: a list, a screen */
#define LIMIT_CLIENT_INPUT_BYTES (256 * 1024) /* typed or piped, not yet taken by the daemon */
#define LIMIT_CLIENT_EVENT_BYTES (4 << 20)    /* one server-sent event */

/* --- engine --- */
#define LIMIT_PROCESSES 1024              /* living ones */
#define LIMIT_VIEWERS 1024                /* of one process */
#define LIMIT_VIEWERS_KEPT_PART 8         /* an eighth of them is not for links and watchers */
#define LIMIT_JOURNAL_BYTES (1024 * 1024) /* ring of one process, default */
#define LIMIT_JOURNAL_MIN_BYTES (64 * 1024)
#define LIMIT_JOURNAL_MAX_BYTES (256LL << 20)
#define LIMIT_JOURNAL_MEMORY_BYTES (2LL << 30) /* all rings together */
#define LIMIT_HISTORY_MAX_BYTES (16LL << 30)   /* ring of one process in a file */
#define LIMIT_HISTORY_DISK_BYTES (8LL << 30)   /* all of those together */
#define LIMIT_CLAIM_MS                                                                             \
    2000 /* a client that was cut is waited for; a reconnect takes less, a person notices more */
#define LIMIT_CLAIMS 8     /* cut clients of one process that are waited for one by one */
#define WS_RECEIPT_MS 1000 /* a WebSocket's peer that answers no ping for so long has no answer */
#define WS_RECEIPT_INPUT_MS 100             /* the same for one whose input waits for room */
#define LIMIT_INPUT_BYTES (1024 * 1024)     /* `input` of a create request */
#define LIMIT_INPUT_QUEUE_BYTES (64 * 1024) /* waiting beyond that; then senders wait */
#define LIMIT_INPUT_CLIENTS 16              /* remembered client ids of one process: the owner's, */
#define LIMIT_INPUT_GUESTS 16               /* and as many of all other grants together */
#define LIMIT_RETAINED 256                  /* exited records kept */
#define LIMIT_RETAIN_MS (60LL * 60 * 1000)  /* and for how long */
#define LIMIT_ARGS 4096
#define LIMIT_ENV 4096
#define LIMIT_TAG_BYTES 128
#define LIMIT_LABEL_BYTES 1024
#define LIMIT_METADATA_BYTES (16 * 1024)
#define LIMIT_EVENT_LOG_BYTES (256 * 1024)
#define LIMIT_NOTES_BYTES (64 * 1024)        /* what platforms' clients set on the daemon */
#define LIMIT_WAITS 1024                     /* requests that wait at once */
#define WAIT_OVERTIME_MS 250                 /* to search what was there when its time was up */
#define LIMIT_WAITS_KEPT_PART 8              /* an eighth of them is not for links and watchers */
#define LIMIT_RUN_OUTPUT_BYTES (1024 * 1024) /* default of max_output_bytes */
#define LIMIT_RUN_OUTPUT_MAX_BYTES (64LL << 20)
#define LIMIT_SESSIONS 128
#define LIMIT_SESSION_QUEUE 64                   /* commands of one session that wait */
#define LIMIT_SESSION_COMMAND_BYTES (128 * 1024) /* one command, and its input: both, with */
#define LIMIT_SESSION_INPUT_BYTES (128 * 1024)   /* escapes, lie in the shell's input queue */
#define SESSION_LOG_BYTES (1024 * 1024)          /* the transcript of one session */
#define SESSION_LOG_COMMANDS 500
#define SESSION_LOG_COMMAND_BYTES (16 * 1024) /* of one command's text in the transcript */
#define SESSION_LOG_OUTPUT_BYTES (16 * 1024)  /* of its output: half head, half tail */
#define LIMIT_TRANSCRIPT_BYTES (1024 * 1024)  /* of output in one answer */
#define LIMIT_REGEX_BYTES 4096
#define LIMIT_REGEX_STATES 4096
#define LIMIT_TEXT_BYTES 4096 /* a text to wait for */
#define LIMIT_LINKS 64        /* share links of one process */
#define LIMIT_LINK_LABEL_BYTES 256
#define LIMIT_LINK_USES 1000000000           /* max_uses */
#define LINK_EXPIRES_MS (24LL * 3600 * 1000) /* unless asked for otherwise */
#define LINK_LOOK_MS (3600LL * 1000)         /* the wall clock may be set meanwhile */
#define LIMIT_NAME_BYTES 128                 /* what a viewer calls itself */
#define LEASE_GRACE_MS 5000                  /* for its holder to come back */
#define LIMIT_DURATION_MS (366LL * 24 * 3600 * 1000)
#define TERMINAL_SIZE_MAX 4096
#define SIZE_DEBOUNCE_MS 50  /* a dragged window sizes the terminal this often */
#define SIZE_LEAVE_MS 250    /* for a reconnect, before the windows of others count */
#define SCREEN_IDLE_MS 60000 /* a built screen that nobody wants any more is dropped */
/*
 * Of a built screen: a larger terminal is shown with fewer lines. No monitor has half as many, and a
 * screen with all of them filled, twice over (main and alternate), takes some 20 MB.
 */
#define LIMIT_SCREEN_CELLS (512 * 1024)
#define LIMIT_SCROLLBACK_LINES 1000              /* of a built screen; xterm.js's own default */
#define LIMIT_SCROLLBACK_BYTES (4 * 1024 * 1024) /* of its cells: fewer lines of a wide one */
#define LIMIT_SCREEN_TEXTS 4096         /* characters with combining marks, different ones */
#define LIMIT_SCREEN_LINKS 512          /* OSC 8, different ones */
#define LIMIT_SCREEN_LINK_BYTES 2048    /* of one */
#define VIEWER_SLICE_BYTES (256 * 1024) /* largest frame */
#define EXIT_QUIET_MS 20                /* output silent this long after exit: done */
#define EXIT_DRAIN_MAX_MS 250           /* whatever still writes, the exit is told by then */
#define ATTENTION_FIRST_MS 30           /* a terminal silent this long is looked at */
#define ATTENTION_LOOKS 4 /* and again, each time ATTENTION_FACTOR later: about 4 s in all */
#define ATTENTION_FACTOR 3
#define ATTENTION_PATIENCE 16      /* one that is never silent is looked at after so many of them */
#define ATTENTION_WATCH_FIRST_MS 5 /* the same while somebody waits for what is found */
#define ATTENTION_WATCH_MAX_MS 250 /* and looks go on */
#define PORTS_FIRST_MS 10          /* a port that somebody waits for is looked at; doubling */
#define PORTS_MAX_MS 250
#define KILL_GRACE_MS 5000
#define KILL_VERIFY_MS 2000 /* after SIGKILL, until survivors are named */

/* --- opencode --- */
#define LIMIT_OC_TICKETS 1024               /* open ones; the oldest goes */
#define OC_TICKET_MS 60000                  /* as its clients are told */
#define LIMIT_OC_INPUT_BYTES (4 << 20)      /* one text frame: a paste comes whole */
#define LIMIT_OC_BUS_BYTES (2 << 20)        /* events that a slow reader has not taken yet */
#define OC_REPLAY_UNITS 2097152             /* of UTF-16, at most, on attach: as the original */
#define OC_RING_BYTES (4 << 20)             /* holds them at two bytes a unit */
#define OC_FRAME_UNITS 65536                /* of one text frame */
#define OC_ANSWER_BYTES (1024 * 1024)       /* of a command's output in its own answer */
#define OC_MESSAGE_BYTES (64 * 1024)        /* in events and in the list of messages */
#define LIMIT_OC_MESSAGES_BYTES (8LL << 20) /* of all of them in one list; the newest count */
#define OC_CHUNK_MS 100                     /* between two events of a command's output */
#define OC_HEARTBEAT_MS 10000
#define OC_PTY_GRACE_MS 2000   /* between TERM and KILL for a PTY that is removed */
#define OC_ABORT_GRACE_MS 3000 /* the same for a command */
/* --- files, for dialects that have them --- */
#define LIMIT_FILE_LIST 10000                     /* entries of one listing */
#define LIMIT_FILE_DEPTH 64                       /* and how deep it goes */
#define LIMIT_FILE_ANSWER_BYTES (8 * 1024 * 1024) /* what such entries take */
#define LIMIT_FILE_BYTES (1LL << 40)              /* an upload is streamed, so large */
#define LIMIT_TAR_ENTRIES 100000                  /* of an archive that is unpacked */

/* --- e2b --- */
#define LIMIT_E2B_MESSAGE_BYTES (4 * 1024 * 1024) /* one message, which is held whole */

/* --- mcp --- */
#define LIMIT_MCP_BODY_BYTES LIMIT_JSON_BODY_BYTES
#define LIMIT_MCP_SESSIONS 256       /* of the owner; beyond it the one idle for longest goes */
#define LIMIT_MCP_GUEST_SESSIONS 192 /* and of all other grants together, */
#define LIMIT_MCP_GRANT_SESSIONS 64  /* of which one grant has so many at most */
#define LIMIT_MCP_SESSION_MS                                                                       \
    (60LL * 60 * 1000)                     /* idle sessions are forgotten; clients begin anew */
#define LIMIT_MCP_CALLS 1024               /* requests under way */
#define LIMIT_MCP_BATCH 100                /* messages in one body */
#define LIMIT_MCP_SUBSCRIPTIONS 64         /* resources that one session watches */
#define LIMIT_MCP_OUTPUT_BYTES (64 * 1024) /* of output in a result: a model reads it */
#define LIMIT_MCP_OUTPUT_MAX_BYTES (1024 * 1024)
#define MCP_PROGRESS_MS 1000 /* between two notifications of progress */

/* --- hyperbrowser --- */
#define LIMIT_HYPER_HISTORY_BYTES (16LL << 20) /* of a process: its result has all of it */
#define LIMIT_HYPER_REPLAY_BYTES (8LL << 20)   /* how far back from_seq goes */
#define LIMIT_HYPER_OUTPUT_BYTES (1024 * 1024) /* in the status of a terminal */
#define LIMIT_HYPER_FRAME_BYTES (1024 * 1024)  /* of JSON, as other bodies */
#define LIMIT_HYPER_LIST 1000                  /* processes in one answer */

/* --- vercel --- */
#define LIMIT_VERCEL_SANDBOXES 64               /* names; then those that have stopped go */
#define LIMIT_VERCEL_NAME_BYTES 128             /* of one */
#define LIMIT_VERCEL_ENV_BYTES (8 * 1024)       /* of the variables that are a sandbox's own */
#define LIMIT_VERCEL_HISTORY_BYTES (32LL << 20) /* of a command: its logs are asked for later */
#define LIMIT_VERCEL_LINE_BYTES (32 * 1024)     /* of output in one line, before it is escaped */
#define VERCEL_TIMEOUT_MS 300000                /* of a session, where none is asked for */
#define VERCEL_TOKEN_MS 60000                   /* to open the WebSocket of a terminal */
#define VERCEL_START_MS 30000                   /* and to say there what is to be started */
#define VERCEL_HEAD_MS 20000                    /* a wait that takes longer begins its answer */

/* --- docker --- */
#define LIMIT_DOCKER_CREATED 64 /* containers that were created and not started */
#define LIMIT_DOCKER_EXECS 256  /* execs that were not started or failed; oldest goes */
#define LIMIT_DOCKER_CREATED_BYTES (16 << 20) /* of what was asked for with all of these */
#define LIMIT_DOCKER_STREAMS 64               /* attached to one container before its start */
#define LIMIT_DOCKER_NOTE_BYTES (32 * 1024)   /* of them, the newest are kept for the next worker */
#define LIMIT_DOCKER_NOTE_ITEM_BYTES (8 * 1024)
#define LIMIT_DOCKER_FILTER_VALUES 64 /* of one filter of a list */
#define LIMIT_DOCKER_TOP 4096         /* processes in one answer */
#define DOCKER_SIZE_MS 200            /* an old client's size is waited for before the start */
#define DOCKER_STOP_MS 10000          /* between TERM and KILL, unless told otherwise */

/* --- gitpod --- */
#define LIMIT_GITPOD_MESSAGE_BYTES (4 * 1024 * 1024) /* one message, as gRPC's clients take */
#define LIMIT_GITPOD_LIST_BYTES (3 * 1024 * 1024)    /* of terminals in one answer, below that */
#define GITPOD_DATA_BYTES (16 * 1024)                /* of one message of output */
#define GITPOD_TITLE_MS 200                          /* between two looks at who holds a terminal */
#define GITPOD_GRACE_MS 500                          /* of a shutdown, before the tree is killed */

/* --- opensandbox --- */
#define LIMIT_OSB_LINE_BYTES (64 * 1024) /* of a line in one event; the Go client takes 4 MiB */
#define LIMIT_OSB_LIST 100               /* commands in one answer */
#define LIMIT_OSB_LOG_BYTES (8LL << 20)  /* kept of a background command, for its logs */
#define OSB_PING_MS 3000                 /* as execd; clients give a silent stream up after 300 s */
#define OSB_PARTIAL_MS 1000              /* a line that does not end is shown after this silence */
#define OSB_KILL_GRACE_MS 3000           /* of an interrupt, as execd's */
#define OSB_READ_ONLY_MAX 5              /* a viewer that types so often is sent away */

/* --- daytona --- */
#define LIMIT_DT_PTY_ID_BYTES 120          /* of a PTY; with "pty-" it is a tag */
#define LIMIT_DT_SIZE 1000                 /* rows and columns of a PTY, as the original */
#define LIMIT_DT_RESULT_BYTES (16LL << 20) /* of what one command wrote, in its answer */
#define LIMIT_DT_LOG_BYTES (8LL << 20)     /* ring of a session's shell: its commands' logs */
#define DT_FRAME_BYTES (16 * 1024)         /* of a log; the client fails at 128 KiB */
#define LIMIT_DT_INPUT_BYTES (1 << 20)     /* one text frame to a PTY: a paste comes whole */
#define LIMIT_DT_TICKETS 256               /* open ones; the oldest goes */
#define DT_TICKET_MS 60000                 /* the client uses one at once */
#define DT_DELETE_GRACE_MS 5000 /* between TERM and KILL for a session, as the original */
#define DT_PING_MS 25000        /* of Socket.IO, as its server's default */
#define DT_HELLO_MS 10000       /* for a Socket.IO client to say who it is */

/* --- kubernetes --- */
#define LIMIT_KUBE_LISTED_ARGS 64           /* of one process in the description of the pod */
#define LIMIT_KUBE_COMMAND_BYTES 4096       /* the same of all its words together */
#define LIMIT_KUBE_SMALL_BYTES 1024         /* a message that is no input: a size */
#define LIMIT_KUBE_TEXT_BYTES (1024 * 1024) /* one message in base64 */
#define LIMIT_KUBE_HELD_BYTES (64 * 1024)   /* of input that its process has no room for */
#define LIMIT_KUBE_FORWARD_HELD_BYTES (1024 * 1024) /* the same of a forwarded connection */
#define LIMIT_KUBE_FRAME_BYTES (16 * 1024)   /* one control frame of SPDY; data is streamed */
#define LIMIT_KUBE_HEADERS_BYTES (64 * 1024) /* one block of SPDY headers, inflated */
#define LIMIT_KUBE_HEADERS 32                /* in one block */
#define LIMIT_KUBE_STREAMS 512        /* of one SPDY connection: two for each that is forwarded */
#define LIMIT_KUBE_PORTS 64           /* in one portforward by WebSocket */
#define KUBE_ANSWER_MS 1000           /* who answers no ping is waited for no longer, */
#define KUBE_GATE_MS 20               /* and who does is sent output so much later, */
#define KUBE_SIZE_MS 300              /* and has its terminal begun without a size after this */
#define KUBE_STREAMS_MS 30000         /* for all streams of one exec, as the original */
#define KUBE_LINGER_MS 1000           /* for the client to end an SPDY connection itself */
#define KUBE_REPLAY_BYTES (64 * 1024) /* of output on attach, where there is no screen */

/* --- cloudflare --- */
#define LIMIT_CF_OUTPUT_BYTES (16 * 1024 * 1024) /* of each stream in an execute, of a log */
#define LIMIT_CF_CALLS 64                        /* requests under way in one multiplex */
#define LIMIT_CF_CALL_ID_BYTES 128               /* their ids; the client's have 25 */
#define LIMIT_CF_FRAME_BYTES (LIMIT_JSON_BODY_BYTES + 64 * 1024) /* one of its messages */

/* --- fly --- */
#define LIMIT_FLY_OUTPUT_BYTES (8LL << 20)  /* of each stream in the answer of an exec */
#define FLY_TIMEOUT_MS 60000                /* of an exec that names none */
#define FLY_GRACE_MS 250                    /* between TERM and KILL at that deadline: 408 is due */
#define FLY_WAIT_MAX_S 60                   /* of a wait for a state, as the original's */
#define FLY_LINGER_MS 10000                 /* what has no terminal runs on so long alone */
#define FLY_KILL_MS 10000                   /* from a kill's signal to SIGKILL */
#define FLY_KEEPALIVE_MS 20000              /* clients give up after 45 s without a message */
#define LIMIT_FLY_REPLAY_BYTES (256 * 1024) /* history of a terminal, at an attach */
#define LIMIT_FLY_LIST 1000                 /* processes in one answer */
/* Of an exec by HTTP, whose frames are chunks that must not be torn or joined on their way: */
#define FLY_BURST_BYTES (48 * 1024) /* together in one read of 64 KiB, with the head */
#define FLY_CHUNK_BYTES 8191 /* one packet of the loopback, one record of TLS, half an unpacking */
#define FLY_UNPACK_BYTES 16384 /* Node's zlib gives so many at once */
#define FLY_CHUNK_GAP_MS 50
#define LIMIT_FLY_HELD_BYTES (64 * 1024) /* output that waits for its turn */

#endif
