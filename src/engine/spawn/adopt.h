/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adopt.h - a new worker adopts the processes that the last one left. Layer: engine.
 */
#ifndef HF_ENGINE_SPAWN_ADOPT_H
#define HF_ENGINE_SPAWN_ADOPT_H

struct engine;
struct keeper_boot;

void adopt_all(struct engine *e, const struct keeper_boot *boot);

#endif
