// SPDX-License-Identifier: Apache-2.0
// The Hyperbrowser client from PyPI against the real binary: the tests are in the files *_test.py.

import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { pythonTests } from '../../lib/languages.mjs';
import { it } from '../../lib/test.mjs';

withDaemon('hyperbrowser: Python', {}, (d) => {
    const run = (file, venv) =>
        pythonTests(
            path.join(import.meta.dirname, file),
            {
                HOME: d.dir,
                HYPERBROWSER_BASE_URL: `${d.url}/dialects/hyperbrowser`,
                HYPERBROWSER_API_KEY: d.token,
            },
            venv,
        );
    it('control plane, processes, streams and terminals', () => run('client_test.py'));
    it('and an older version: create, exec, streams, terminals, errors', () => run('older_test.py', 'older'));
});
