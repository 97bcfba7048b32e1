/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_store.h - descriptors under keys. Layer: vault; only its own files include it.
 */
#ifndef HF_VAULT_VAULT_STORE_H
#define HF_VAULT_VAULT_STORE_H

#include "vault/vault.h"

int store_init(struct vault *v); /* 0 or -errno */
void store_fini(struct vault *v);
int store_fd(const struct vault *v, uint32_t key); /* -1: none */
/* Replaces an older one. The store owns the descriptor from then on. */
void store_take(struct vault *v, uint32_t key, int fd);
/* Needs no descriptor, so it cannot fail. With nothing under `from`, nothing changes. */
void store_move(struct vault *v, uint32_t from, uint32_t to);
void store_drop(struct vault *v, uint32_t key, uint32_t count);
/* In a child that has its own descriptors: no process has been started yet. */
void store_close_copies(const struct vault *v);
/* NULL, or the fault of a message that arrived with `fd_count` descriptors. */
const char *store_fault(const struct v_message *m, size_t fd_count);

/* vault_start.c */
void start_first(struct vault *v, vault_first_fn *first, void *arg);
void start_next(struct vault *v);

/* vault_control.c */
void control_accept(struct vault *v);
/* Sends the status to the launcher and every client. */
void control_broadcast(struct vault *v);
void control_reply(struct vault *v, int fd);
void control_close(struct vault *v, size_t i);

#endif
