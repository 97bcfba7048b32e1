// SPDX-License-Identifier: Apache-2.0
//
// alive.mjs - does this process run? One that only waits to be collected does not.

import * as proc from '../../lib/proc.mjs';

export const pidAlive = (pid) => !['Z', 'X', undefined].includes(proc.stat(pid)?.state);
