/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volley.h - signals to whole trees, all that were asked for in one turn
 *
 * Members may fork while others are being signalled, so a tree is looked at again until nobody
 * new is found; what a handler of the signal has started is left alone. Those looks are shared:
 * every round reads /proc once, for all trees. Layer: keeper.
 */
#ifndef HF_KEEPER_VOLLEY_H
#define HF_KEEPER_VOLLEY_H

#include "base/list.h"
#include "keeper/proto.h"

struct keeper;

void volley_init(struct keeper *k);
/* For K_TREE and K_RECENT: it is sent, and the worker told, by volley_fire(). */
void volley_add(struct keeper *k, const struct k_signal *m);
void volley_fire(struct keeper *k);

#endif
