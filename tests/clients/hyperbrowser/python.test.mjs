// SPDX-License-Identifier: Apache-2.0
// The Hyperbrowser client from PyPI against the real binary: the tests are in client_test.py.

import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { pythonTests } from '../../lib/languages.mjs';
import { it } from '../../lib/test.mjs';

withDaemon('hyperbrowser: Python', {}, (d) => {
    it('control plane, processes, streams and terminals', () =>
        pythonTests(path.join(import.meta.dirname, 'client_test.py'), {
            HOME: d.dir,
            HYPERBROWSER_BASE_URL: `${d.url}/dialects/hyperbrowser`,
            HYPERBROWSER_API_KEY: d.token,
        }));
});
