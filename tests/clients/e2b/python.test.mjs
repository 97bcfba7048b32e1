// SPDX-License-Identifier: Apache-2.0
// The E2B client from PyPI against the real binary: the tests are in client_test.py.

import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { base } from '../../lib/e2b.mjs';
import { pythonTests } from '../../lib/languages.mjs';
import { it } from '../../lib/test.mjs';

withDaemon('e2b: Python', {}, (d) => {
    it('commands, streams, input, terminals and files', () =>
        pythonTests(path.join(import.meta.dirname, 'client_test.py'), {
            HOME: d.dir,
            E2B_API_URL: base(d),
            E2B_SANDBOX_URL: base(d),
            E2B_API_KEY: d.token,
        }));
});
