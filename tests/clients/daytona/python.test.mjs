// SPDX-License-Identifier: Apache-2.0
// The Daytona client from PyPI against the real binary: the tests are in client_test.py.

import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { pythonTests } from '../../lib/languages.mjs';
import { it } from '../../lib/test.mjs';

withDaemon('daytona: Python', {}, (d) => {
    it('control plane, commands, sessions, terminals, and a hundred commands at once', () =>
        pythonTests(path.join(import.meta.dirname, 'client_test.py'), {
            HOME: d.dir,
            DAYTONA_API_URL: `${d.url}/dialects/daytona/api`,
            DAYTONA_API_KEY: d.token,
        }));
});
