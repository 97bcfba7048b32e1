/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_signal.h - signals to whole trees, all that were asked for in one turn
 *
 * Members may fork while others are being signalled, so a tree is looked at again until nobody
 * new is found; what a handler of the signal has started is left alone. Those looks are shared:
 * every round reads /proc once, for all trees. Layer: keeper.
 */
#ifndef HF_KEEPER_TREE_SIGNAL_H
#define HF_KEEPER_TREE_SIGNAL_H

#include "base/list.h"
#include "keeper/keeper_proto.h"

struct keeper;

void tree_signal_init(struct keeper *k);
/* For K_TREE and K_RECENT: it is sent, and the worker told, by tree_signal_fire(). */
void tree_signal_add(struct keeper *k, const struct k_signal *m);
void tree_signal_fire(struct keeper *k);

#endif
