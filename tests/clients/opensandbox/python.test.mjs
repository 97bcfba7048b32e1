// SPDX-License-Identifier: Apache-2.0
//
// The OpenSandbox client from PyPI against the real binary: the tests are in client_test.py. A version of
// before 1.0 runs them as well, because it reads streams by the line and joins texts by newlines.

import path from 'node:path';
import { daemonFor } from '../../lib/daemon.mjs';
import { pythonTests } from '../../lib/languages.mjs';
import { domainOf } from '../../lib/opensandbox.mjs';
import { scaled } from '../../lib/scale.mjs';
import { describe, it } from '../../lib/test.mjs';

const suite = (venv) =>
    daemonFor({}, (d) =>
        pythonTests(
            path.join(import.meta.dirname, 'client_test.py'),
            {
                HOME: d.dir,
                OPEN_SANDBOX_DOMAIN: domainOf(d),
                OPEN_SANDBOX_API_KEY: d.token,
                OPENSANDBOX_DISABLE_METRICS: '1',
                WORKER_PID: String(d.workerPid()),
                SILENCE: String(scaled(70, 12)),
            },
            venv,
        ),
    );

/* Side by side, because each of them waits for a silent command. */
describe('opensandbox: Python', { concurrency: true }, () => {
    it('commands, sessions, text and stress with 1.1', () => suite('opensandbox'));
    it('and with 0.1', () => suite('opensandbox-0'));
});
