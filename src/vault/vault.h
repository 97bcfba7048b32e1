/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault.h - the process that must not fail: it holds everything that must not be lost
 *
 * The vault is the parent of the keeper. It holds a copy of every descriptor, is the parent of last
 * resort of every program (subreaper), and starts another keeper when one dies: the same binary, or
 * the previous one if a new one does not work. It parses nothing, allocates nothing after
 * vault_init(), and sleeps in one call while nothing happens. Layer: vault; includes base only.
 */
#ifndef HF_VAULT_VAULT_H
#define HF_VAULT_VAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fd_message.h"
#include "vault/guard.h"
#include "vault/ledger.h"
#include "vault/vault_proto.h"

/* Between V_TRIAL and V_WELL, at most: a binary that takes longer is killed, and the previous one
 * runs again. The keeper, which has seen the trial, asks for less. */
#define VAULT_WELL_MS 10000
/* The same for a keeper that the vault started, which has more to do. */
#define VAULT_START_MS 60000
/* A binary that dies within this time after V_WELL is replaced by the previous one. */
#define VAULT_PROBATION_MS 60000
#define VAULT_EARLY_MS 1000 /* a keeper that dies sooner has died early */
#define VAULT_EARLY_MAX 3   /* early deaths in a row before there is a wait, and another binary */
#define VAULT_WAIT_MS 100   /* the first such wait; each further one is twice as long */
#define VAULT_WAIT_MAX_MS 5000
#define VAULT_WAIT_SERVED_MS 50   /* the wait after a keeper that had served: clients are waiting */
#define VAULT_ACCEPT_PAUSE_MS 100 /* pause after a failed accept(2), say for lack of descriptors */
#define VAULT_CLIENTS_MAX 8       /* connections of `holdfast stop` and similar commands */
#define VAULT_TURN_PACKETS 64     /* packets of one peer before the others are served */

/* The keeper's view of the vault. */
struct vault_ends {
    int channel_fd; /* SOCK_SEQPACKET */
    int ledger_fd;  /* mapped by ledger_map() */
    int index_fd;   /* vault_index_map(): key -> descriptor number + 1 */
};

struct vault {
    struct vault_ends own; /* channel_fd: the vault's end; -1: no keeper */
    struct ledger *ledger;
    int32_t *index;
    int signal_fd, listen_fd, launcher_fd;
    int clients[VAULT_CLIENTS_MAX];
    struct guard guard;
    uint64_t nofile_cur, nofile_max; /* the daemon's initial limit */
    pid_t keeper, launcher;
    pid_t reported_pid; /* a dead child, reported to the keeper and not yet recorded by it */
    enum v_phase phase;
    bool rested;     /* the program's pages were released since the last start */
    bool keep, done; /* the keeper has sent V_KEEP, V_DONE */
    bool leaving;    /* V_LEAVE arrived, and the keeper has not left yet */
    bool start_next; /* V_START arrived while a keeper was leaving */
    bool well;       /* the keeper has sent V_WELL */
    bool on_trial;   /* it runs another binary than V_KEY_GOOD */
    bool killed;     /* by us: a V_WELL that was on its way does not count */
    int code;
    unsigned early;  /* early deaths in a row */
    unsigned failed; /* the last so many of them before V_WELL */
    uint32_t starts, upgrades, refusals, late;
    uint64_t since_ms;     /* when the keeper was started, executed a binary, or sent V_WELL */
    uint64_t start_at_ms;  /* UINT64_MAX: no start is due */
    uint64_t well_by_ms;   /* UINT64_MAX: there is no deadline */
    uint64_t accept_at_ms; /* no client is accepted before; UINT64_MAX: no pause */
};

/* The first keeper: runs in a forked child and returns its exit code. */
typedef int vault_first_fn(const struct vault_ends *ends, void *arg);

/* `exe_path`: our own binary. 0 or -errno. Puts may follow. */
int vault_init(struct vault *v, const char *exe_path);
/* Stores a duplicate. 0 or -errno. */
int vault_put(struct vault *v, uint32_t key, int fd);
/* A memory file of `argv` and the environment, for V_KEY_ARGS. A descriptor or -errno. */
int vault_args_save(char *const *argv);
/* The same, stored for later keepers. 0 or -errno. */
int vault_put_args(struct vault *v, char *const *argv);
/* Listens for `holdfast stop` and the next `holdfast serve`. The daemon serves even if this
 * fails. */
void vault_listen(struct vault *v, const char *name);
/* The vault's whole life; returns the daemon's exit code. launcher_fd: -1, or a socket to it. */
int vault_run(struct vault *v, vault_first_fn *first, void *arg, int launcher_fd, pid_t launcher);
/* In the parent of the vault: closes the descriptors, which the vault owns now. The ledger stays
 * mapped. */
void vault_release(struct vault *v);
void vault_fini(struct vault *v);

/* A connection to the vault of the daemon that listens at that address, or -errno. */
int vault_connect(const char *name);
/* One packet. `fds` may be NULL. 0 or -errno. */
int vault_send(int fd, const struct v_message *m, const int *fds);
/* 1: received; 0: none available; -errno. */
int vault_receive(int fd, struct v_message *m, struct fd_message *attached);

/* In a keeper that was executed: false if there is no vault. */
bool vault_ends_from_env(struct vault_ends *out);
const int32_t *vault_index_map(int fd); /* NULL: mmap(2) failed */
void vault_index_unmap(const int32_t *index);

#endif
