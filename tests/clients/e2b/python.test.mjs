// SPDX-License-Identifier: Apache-2.0
// The E2B client from PyPI against the real binary: the tests are in the files *_test.py.

import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { base } from '../../lib/e2b.mjs';
import { pythonTests } from '../../lib/languages.mjs';
import { scaled } from '../../lib/scale.mjs';
import { it } from '../../lib/test.mjs';

withDaemon('e2b: Python', { fdBaseline: false }, (d) => {
    const run = (file, more = {}) =>
        pythonTests(path.join(import.meta.dirname, file), {
            HOME: d.dir,
            E2B_API_URL: base(d),
            E2B_SANDBOX_URL: base(d),
            E2B_API_KEY: d.token,
            ...more,
        });
    it('commands, streams, input, terminals, files and errors', () => run('client_test.py'));
    it('the asynchronous client, many calls at once, a long silence, a killed worker', () =>
        run('async_test.py', { HF_WORKER_PID: String(d.workerPid()), HF_QUIET_S: String(scaled(70, 5)) }));
    it('the replies are what its models require', () => run('models_test.py'));
});
