// SPDX-License-Identifier: Apache-2.0
// The Daytona client from PyPI against the real binary: the tests are in the files *_test.py.

import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { pythonTests } from '../../lib/languages.mjs';
import { it } from '../../lib/test.mjs';

withDaemon('daytona: Python', {}, (d) => {
    const run = (file, venv) =>
        pythonTests(
            path.join(import.meta.dirname, file),
            {
                HOME: d.dir,
                DAYTONA_API_URL: `${d.url}/dialects/daytona/api`,
                DAYTONA_API_KEY: d.token,
            },
            venv,
        );
    it('control plane, commands, sessions, terminals, and a hundred commands at once', () => run('client_test.py'));
    it('and an older version: create, exec, sessions, terminals, errors', () => run('older_test.py', 'older'));
});
