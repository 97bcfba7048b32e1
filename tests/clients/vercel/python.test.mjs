// SPDX-License-Identifier: Apache-2.0
// The Vercel Sandbox client from PyPI against the real binary: the tests are in client_test.py.

import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { pythonTests } from '../../lib/languages.mjs';
import { it } from '../../lib/test.mjs';

withDaemon('vercel: Python', {}, (d) => {
    it('commands, streams, and input', () =>
        pythonTests(path.join(import.meta.dirname, 'client_test.py'), {
            HOME: d.dir,
            VERCEL_URL: `${d.url}/dialects/vercel/api`,
            VERCEL_TOKEN: d.token,
        }));
});
