// SPDX-License-Identifier: Apache-2.0
// The MCP clients from PyPI, mcp and fastmcp, against the real binary: the tests are in client_test.py.

import path from 'node:path';
import { binary, withDaemon } from '../../lib/daemon.mjs';
import { pythonTests } from '../../lib/languages.mjs';
import { it } from '../../lib/test.mjs';

withDaemon('mcp: Python', {}, (d) => {
    it('tools, sessions, prompts, errors and stress with mcp and fastmcp', () =>
        pythonTests(path.join(import.meta.dirname, 'client_test.py'), {
            HOME: d.dir,
            HOLDFAST: binary(),
            MCP_URL: `${d.url}/mcp`,
            TOKEN: d.token,
            WATCH_TOKEN: d.tokens.watch,
            WORKER_PID: String(d.workerPid()),
        }));
});
