/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_proto.h - the messages to and from the vault
 *
 * Every packet on every socket of the vault is one struct v_message of fixed length, so there is
 * nothing to parse. Descriptors travel by SCM_RIGHTS. The layout must never change: a vault
 * outlives the binaries of its keepers. Layer: vault.
 */
#ifndef HF_VAULT_VAULT_PROTO_H
#define HF_VAULT_VAULT_PROTO_H

#include <stdint.h>

#include "vault/ledger.h"

/* --- keys of descriptors ------------------------------------------------------ */

/* Of a process: its row times V_ROW_KEYS, plus one of these. */
enum v_row_key { V_RECORD, V_TTY, V_STDIN, V_STDOUT, V_STDERR, V_SIDE };
#define V_ROW_KEYS 8
#define V_LISTENERS 64

/* Of the daemon. */
enum v_key {
    V_KEY_STATE = LEDGER_ROWS * V_ROW_KEYS, /* memory that all workers share */
    V_KEY_SIDING_READ,
    V_KEY_SIDING_WRITE,
    V_KEY_CARRY,  /* data that the command needs again; a memory file */
    V_KEY_ARGS,   /* arguments and environment of the next keeper; a memory file */
    V_KEY_EXE,    /* its binary */
    V_KEY_GOOD,   /* the previous binary, which is known to work */
    V_KEY_OUTPUT, /* its standard output and standard error; none: the vault's own */
    V_KEY_ERRORS,
    V_KEY_CWD, /* its working directory */
    V_KEY_LISTENER,
    V_KEYS = V_KEY_LISTENER + V_LISTENERS,
};

/* --- messages ----------------------------------------------------------------- */

enum v_type {
    /* keeper -> vault */
    V_PUT = 1, /* store these descriptors under keys[0..count-1], replacing older ones */
    V_DROP,    /* close those under `count` keys from keys[0] on */
    V_REAP,    /* the keeper has recorded the exit of `pid` */
    V_TRIAL,   /* the keeper is about to execute another binary in its place; `status`: milliseconds
                * until V_WELL, 0: as many as the vault allows */
    V_WELL,    /* the first worker of this keeper serves; with its binary, if that is new */
    V_DONE,    /* everything has ended; the daemon's exit code is `status` */
    V_KEEP,    /* the keeper leaves, and the vault keeps everything */
    /* vault -> keeper */
    V_EXITED, /* a child of the vault: pid, status, usage. It stays a zombie until V_REAP. */
    V_LEAVE,  /* leave with V_KEEP */
    /* launcher or CLI -> vault; V_PUT, V_DROP and V_LEAVE, too */
    V_STATUS,  /* reply: V_STATUS, with a descriptor of the ledger */
    V_START,   /* start a keeper from what was stored */
    V_STOP,    /* terminate everything */
    V_UPGRADE, /* as SIGHUP */
    V_OWN,     /* the sender is the launcher now */
    /* keeper -> vault */
    V_REFUSED, /* another binary was requested and rejected; the log says why */
    /* The vault sends V_STATUS to each client whenever the phase changes. */
};

enum v_phase {
    V_STARTING,
    V_SERVING,
    V_LEAVING,
    V_HOLDING, /* no keeper; everything is kept */
    V_ENDING,
    V_ENDED,
};

#define V_PUT_MAX 8
struct v_message {
    uint32_t type;
    uint32_t count;
    uint32_t keys[V_PUT_MAX];
    int32_t pid;    /* V_STATUS: the keeper's; 0: none */
    int32_t status; /* as from waitpid(2); V_DONE: exit code; V_STATUS: exit code when ended */
    uint64_t usage[USAGE_WORDS]; /* V_EXITED; see usage_pack() */
    uint32_t phase;              /* V_STATUS: enum v_phase */
    uint32_t starts;             /* V_STATUS: number of keepers started so far */
    int32_t launcher;            /* V_STATUS: pid; 0: none */
    uint32_t upgrades; /* V_STATUS: number of binaries executed in place that sent V_WELL */
    uint32_t refusals; /* V_STATUS: number of binaries requested that did not take over */
    uint32_t late;     /* V_STATUS: number of those killed because they did not serve in time */
    uint32_t room[2];
};

/* The channel, the ledger and the index of descriptors of an executed keeper: three numbers
 * separated by commas. */
#define V_ENV "HOLDFAST_VAULT"

#endif
