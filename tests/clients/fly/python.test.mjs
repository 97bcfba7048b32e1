// SPDX-License-Identifier: Apache-2.0
// Sprites by sprites-py from PyPI against the real binary: the tests are in client_test.py.

import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { pythonTests } from '../../lib/languages.mjs';
import { it } from '../../lib/test.mjs';
import { base } from './client.mjs';

withDaemon('fly: Python', {}, (d) => {
    it('commands, terminals, sessions, files, errors and stress with sprites-py', () =>
        pythonTests(path.join(import.meta.dirname, 'client_test.py'), {
            HOME: d.dir,
            BASE_URL: base(d),
            TOKEN: d.token,
            WATCH_TOKEN: d.tokens.watch,
            WORKER_PID: String(d.workerPid()),
        }));
});
