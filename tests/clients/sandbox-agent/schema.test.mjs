// SPDX-License-Identifier: Apache-2.0
// Every reply is what the types of npm sandbox-agent say it is; they are generated from its OpenAPI document.

import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { Replies } from '../../lib/replies.mjs';
import { it } from '../../lib/test.mjs';
import { BASE, sh } from './client.mjs';

const TYPES = ['HealthResponse', 'ProcessConfig', 'ProcessInfo', 'ProcessListResponse', 'ProcessRunResponse', 'ProcessLogsResponse', 'ProcessInputResponse', 'ProcessTerminalResizeResponse', 'FsEntry', 'FsStat', 'FsActionResponse', 'FsMoveResponse', 'FsWriteResponse', 'ProblemDetails'];
const a = (name) => ({ types: name });

withDaemon('sandbox-agent: schemas', {}, (d) => {
    it('processes, terminals, files, and errors', async () => {
        const r = new Replies(d, BASE);
        const json = (body) => ({ json: body });
        await r.call('GET', '/v1/health', 200, a('HealthResponse'));
        const config = await r.call('GET', '/v1/processes/config', 200, a('ProcessConfig'));
        await r.call('POST', '/v1/processes/config', 200, a('ProcessConfig'), json(config));

        await r.call('POST', '/v1/processes/run', 200, a('ProcessRunResponse'), json(sh('echo out; echo err >&2; exit 3')));
        await r.call('POST', '/v1/processes/run', 200, a('ProcessRunResponse'), json({ ...sh('sleep 60'), timeoutMs: 100 }));
        const p = await r.call('POST', '/v1/processes', 200, a('ProcessInfo'), json({ ...sh('echo up; exec cat'), tty: true, interactive: true }));
        await r.call('GET', '/v1/processes', 200, a('ProcessListResponse'));
        await r.call('GET', `/v1/processes/${p.id}`, 200, a('ProcessInfo'));
        await r.call('GET', `/v1/processes/${p.id}/logs`, 200, a('ProcessLogsResponse'));
        await r.call('POST', `/v1/processes/${p.id}/input`, 200, a('ProcessInputResponse'), json({ data: 'eA==', encoding: 'base64' }));
        await r.call('POST', `/v1/processes/${p.id}/terminal/resize`, 200, a('ProcessTerminalResizeResponse'), json({ cols: 100, rows: 30 }));
        await r.call('DELETE', `/v1/processes/${p.id}`, 409, a('ProblemDetails'));
        await r.call('POST', `/v1/processes/${p.id}/stop?waitMs=5000`, 200, a('ProcessInfo'));
        await r.call('POST', `/v1/processes/${p.id}/kill?waitMs=5000`, 200, a('ProcessInfo'));
        await r.call('GET', `/v1/processes/${p.id}`, 200, a('ProcessInfo'));
        await r.call('DELETE', `/v1/processes/${p.id}`, 204);

        const dir = path.join(d.dir, 'files');
        const q = (name) => encodeURIComponent(path.join(dir, name));
        await r.call('POST', `/v1/fs/mkdir?path=${q('sub')}`, 200, a('FsActionResponse'));
        await r.call('PUT', `/v1/fs/file?path=${q('one')}`, 200, a('FsWriteResponse'), { body: 'text', headers: { 'Content-Type': 'application/octet-stream' } });
        await r.call('GET', `/v1/fs/entries?path=${q('.')}`, 200, a('FsEntry[]'));
        await r.call('GET', `/v1/fs/stat?path=${q('one')}`, 200, a('FsStat'));
        await r.call('POST', '/v1/fs/move', 200, a('FsMoveResponse'), json({ from: path.join(dir, 'one'), to: path.join(dir, 'two') }));
        await r.call('DELETE', `/v1/fs/entry?path=${q('.')}&recursive=true`, 200, a('FsActionResponse'));
        fs.rmSync(dir, { recursive: true, force: true });

        for (const [method, where] of [
            ['GET', '/v1/processes/none'], ['GET', '/v1/processes/none/logs'], ['POST', '/v1/processes/none/stop'], ['POST', '/v1/processes/none/kill'],
            ['DELETE', '/v1/processes/none'], ['GET', '/v1/nothing'],
        ]) await r.call(method, where, 404, a('ProblemDetails'));
        for (const call of ['file', 'stat']) await r.call('GET', `/v1/fs/${call}?path=${q('none')}`, 400, a('ProblemDetails'));
        await r.call('POST', '/v1/processes', 422, a('ProblemDetails'), json({}));
        await r.call('POST', '/v1/processes/run', 400, a('ProblemDetails'), { body: '{', headers: { 'Content-Type': 'application/json' } });
        await r.call('GET', '/v1/processes', 401, a('ProblemDetails'), { role: 'wrong-wrong-wrong-wrong' });
        await r.checkTypes([`import type { ${TYPES.join(', ')} } from 'sandbox-agent';`], { open: ['ProblemDetails'] });
        r.checkRoutes('sandbox-agent', {
            'GET /v1/processes/{id}/terminal/ws': 'a WebSocket',
            'POST /v1/fs/upload-batch': 'an archive',
        });
    });
});
