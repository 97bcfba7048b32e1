// SPDX-License-Identifier: Apache-2.0
// Every reply is what Daytona's own OpenAPI clients (PyPI daytona_api_client, daytona_toolbox_api_client) say it is.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { Replies } from '../../lib/replies.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { BASE } from './client.mjs';

const TOOLBOX = { python: 'daytona_toolbox_api_client:' };
const API = { python: 'daytona_api_client:' };
const REFUSED = { python: 'daytona_toolbox_api_client.models:ErrorResponse' };

withDaemon('daytona: schemas', {}, (d) => {
    it('the sandbox', async () => {
        const r = new Replies(d, `${BASE}/api`);
        await r.call('POST', '/sandbox', 200, API, { json: { labels: { a: 'b' }, env: { A: '1' } } });
        await r.call('GET', '/sandbox', 200, API);
        await r.call('GET', '/sandbox/local', 200, API);
        await r.call('PUT', '/sandbox/local/labels', 200, API, { json: { labels: { c: 'd' } } });
        await r.call('POST', '/sandbox/local/start', 200, API);
        await r.call('POST', '/sandbox/local/last-activity', 201, API);
        await r.call('GET', '/sandbox/local/toolbox-proxy-url', 200, API);
        await r.call('GET', '/sandbox/local/ports/1/preview-url', 200, API);
        await r.call('GET', '/sandbox/other', 404, REFUSED);
        await r.call('POST', '/sandbox', 400, REFUSED, { json: { labels: 1 } });
        await r.call('GET', '/sandbox', 401, REFUSED, { role: 'wrong-wrong-wrong-wrong' });
        await r.call('POST', '/sandbox', 403, REFUSED, { role: 'watch', json: {} });
        await r.call('GET', '/config', 501, REFUSED);
        await r.call('GET', '/sandbox/local/telemetry/metrics', 501, REFUSED);
        await r.call('POST', '/sandbox/local/stop', 501, REFUSED);
        await r.call('POST', '/sandbox/local/autostop/5', 501, REFUSED);
        await r.call('PUT', '/sandbox/local/secrets', 501, REFUSED);
        await r.call('GET', '/sandbox/local/ports/3000/preview-url', 501, REFUSED);
        await r.call('GET', '/sandbox/paginated', 200, { types: 'PaginatedSandboxesDeprecated' });
        await r.call('DELETE', '/sandbox/local', 200, API);
        await r.checkPython();
        await r.checkTypes(["import type { PaginatedSandboxesDeprecated } from '../daytona-sdk-196/node_modules/@daytona/api-client';"]);
        r.checkRoutes('daytona', { 'GET /socket.io/': 'a socket of Engine.IO' });
    });

    it('commands, sessions, terminals and files', async () => {
        const r = new Replies(d, `${BASE}/toolbox/local`);
        const json = (body) => ({ json: body });
        for (const where of ['/work-dir', '/user-home-dir', '/system/metrics']) await r.call('GET', where, 200, TOOLBOX);
        await r.call('GET', '/version', 200, TOOLBOX);
        await r.call('POST', '/env', 200, TOOLBOX, json({ set: { DT_SCHEMA: '1' } }));

        await r.call('POST', '/process/execute', 200, TOOLBOX, json({ command: 'echo out; exit 3' }));
        await r.call('POST', '/process/execute', 400, TOOLBOX, json({}));
        await r.call('POST', '/process/execute', 400, TOOLBOX, { body: '{' });
        await r.call('POST', '/process/execute', 408, TOOLBOX, json({ command: 'sleep 60', timeout: 1 }));
        await r.call('POST', '/process/code-run', 200, TOOLBOX, json({ code: 'print(1)', language: 'python' }));
        await r.call('POST', '/process/code-run', 400, TOOLBOX, json({ code: 1 }));

        await r.call('POST', '/process/session', 201, TOOLBOX, json({ sessionId: 's' }));
        await r.call('POST', '/process/session', 409, TOOLBOX, json({ sessionId: 's' }));
        await r.call('POST', '/process/session', 400, TOOLBOX, json({ sessionId: 5 }));
        await r.call('POST', '/process/session/s/exec', 200, TOOLBOX, json({ command: 'echo out; echo err >&2' }));
        const { cmdId } = await r.call('POST', '/process/session/s/exec', 202, TOOLBOX, json({ command: 'read x; echo $x', runAsync: true }));
        const command = `/process/session/s/command/${cmdId}`;
        await r.call('GET', command, 200, TOOLBOX); // it runs, so it has no code
        await r.call('POST', `${command}/input`, 204, TOOLBOX, json({ data: 'x\n' }));
        await waitUntil(async () => (await r.call('GET', command, 200, TOOLBOX)).exitCode === 0, 'the end of the command');
        await r.call('POST', `${command}/input`, 410, TOOLBOX, json({ data: 'x\n' }));
        await r.call('GET', `${command}/logs`, 200, TOOLBOX, { headers: { Accept: 'application/json', 'X-Daytona-SDK-Version': '0.226.1' } });
        await r.call('GET', '/process/session', 200, TOOLBOX);
        await r.call('GET', '/process/session/s', 200, TOOLBOX);
        await r.call('GET', '/process/session/entrypoint', 404, REFUSED);
        await r.call('GET', '/process/session/entrypoint/logs', 404, REFUSED);
        await r.call('GET', '/process/session/none', 404, TOOLBOX);
        await r.call('GET', '/process/session/s/command/none', 404, TOOLBOX);
        await r.call('GET', '/process/session/s/command/none/logs', 404, TOOLBOX);
        await r.call('POST', '/process/session/none/exec', 404, TOOLBOX, json({ command: 'true' }));
        await r.call('DELETE', '/process/session/s', 204, TOOLBOX);
        await r.call('DELETE', '/process/session/s', 404, TOOLBOX);

        await r.call('POST', '/process/pty', 201, TOOLBOX, json({ id: 'p', cols: 90, rows: 25, envs: { A: '1' } }));
        await r.call('POST', '/process/pty', 409, TOOLBOX, json({ id: 'p' }));
        await r.call('POST', '/process/pty', 400, TOOLBOX, json({ id: 'q', cols: -1 }));
        await r.call('GET', '/process/pty', 200, TOOLBOX);
        await r.call('GET', '/process/pty/p', 200, TOOLBOX);
        await r.call('POST', '/process/pty/p/resize', 200, TOOLBOX, json({ cols: 91, rows: 26 }));
        await r.call('POST', '/process/pty/p/resize', 400, TOOLBOX, json({ cols: 'wide' }));
        await r.call('DELETE', '/process/pty/p', 200, TOOLBOX);
        await r.call('DELETE', '/process/pty/p', 404, TOOLBOX);
        await r.call('GET', '/process/pty/p', 404, TOOLBOX);

        const dir = path.join(d.dir, 'files');
        const at = (name) => encodeURIComponent(path.join(dir, name));
        await r.call('POST', `/files/folder?path=${at('sub')}&mode=755`, 201, TOOLBOX);
        fs.writeFileSync(path.join(dir, 'one'), 'some TODO\n');
        await r.call('GET', `/files?path=${at('.')}`, 200, TOOLBOX);
        await r.call('GET', `/files/info?path=${at('one')}`, 200, TOOLBOX);
        await r.call('GET', `/files/info?path=${at('none')}`, 404, TOOLBOX);
        await r.call('GET', '/files/info', 400, TOOLBOX);
        await r.call('GET', `/files/download?path=${at('none')}`, 404, TOOLBOX);
        await r.call('GET', `/files/find?path=${at('.')}&pattern=TODO`, 200, TOOLBOX);
        await r.call('GET', `/files/search?path=${at('.')}&pattern=one`, 200, TOOLBOX);
        const form = await d.request('POST', `${BASE}/toolbox/local/files/bulk-download`, json({ paths: [path.join(dir, 'none'), dir] }));
        const errors = await new Response(form.text, { headers: { 'Content-Type': form.headers['content-type'] } }).formData();
        assert.equal(errors.getAll('error').length, 2, form.text);
        for (const part of errors.getAll('error')) r.note('the error of a part', REFUSED, JSON.parse(await part.text()));
        await r.call('POST', `/files/permissions?path=${at('one')}&mode=600`, 200, TOOLBOX);
        await r.call('POST', `/files/move?source=${at('one')}&destination=${at('two')}`, 200, TOOLBOX);
        await r.call('POST', '/files/replace', 501, REFUSED, json({ files: [path.join(dir, 'two')], pattern: 'TODO', newValue: 'done' }));
        await r.call('DELETE', `/files?path=${at('.')}`, 400, TOOLBOX);
        await r.call('DELETE', `/files?path=${at('.')}&recursive=true`, 204, TOOLBOX);
        await r.call('GET', '/nothing', 404, REFUSED);
        await r.call('PUT', '/files', 405, REFUSED);
        await r.checkPython();
        r.checkRoutes(
            'daytona',
            {
                'GET /process/pty/create-connect': 'a WebSocket',
                'GET /process/pty/{id}/connect': 'a WebSocket',
                'POST /files/bulk-download': 'multipart',
                'POST /files/bulk-upload': 'multipart',
            },
            { prefix: `${BASE}/toolbox/{sandbox}` },
        );
    });
});
