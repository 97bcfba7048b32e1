// SPDX-License-Identifier: Apache-2.0
// Kubernetes clients from PyPI against the real binary: the tests are in the files *_test.py.

import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { pythonTests } from '../../lib/languages.mjs';
import { it } from '../../lib/test.mjs';

withDaemon('kubernetes: Python', {}, (d) => {
    const run = (file, venv) =>
        pythonTests(
            path.join(import.meta.dirname, file),
            {
                HOME: d.dir,
                KUBE_SERVER: `${d.url}/dialects/kubernetes`,
                KUBE_TOKEN: d.token,
                KUBE_WATCH_TOKEN: d.tokens.watch,
            },
            venv,
        );
    it('pods, selectors, exec, input, terminals, and a hundred at once', () => run('client_test.py'));
    it('and an older version: pods, exec, input, terminals, errors', () => run('older_test.py', 'older'));
});
