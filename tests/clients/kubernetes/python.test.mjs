// SPDX-License-Identifier: Apache-2.0
// Kubernetes clients from PyPI against the real binary: the tests are in client_test.py.

import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { pythonTests } from '../../lib/languages.mjs';
import { it } from '../../lib/test.mjs';

withDaemon('kubernetes: Python', {}, (d) => {
    it('pods, selectors, exec, input, terminals, and a hundred at once', () =>
        pythonTests(path.join(import.meta.dirname, 'client_test.py'), {
            HOME: d.dir,
            KUBE_SERVER: `${d.url}/dialects/kubernetes`,
            KUBE_TOKEN: d.token,
        }));
});
