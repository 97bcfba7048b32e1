/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_signal.h - signals to whole trees, all requests of one turn together
 *
 * Members may fork while others are being signalled, so a tree is searched again until no new
 * member is found; processes that a handler of the signal started are left alone. The searches are
 * shared: every round reads /proc once, for all trees. Layer: keeper.
 */
#ifndef HF_KEEPER_TREE_SIGNAL_H
#define HF_KEEPER_TREE_SIGNAL_H

#include "base/list.h"
#include "keeper/keeper_proto.h"

struct keeper;

void tree_signal_init(struct keeper *k);
/* For K_TREE and K_RECENT. tree_signal_send() sends it and reports to the worker. */
void tree_signal_add(struct keeper *k, const struct k_signal *m);
void tree_signal_send(struct keeper *k);

#endif
