// SPDX-License-Identifier: Apache-2.0
// Every reply of the container's routes has what the types of npm @cloudflare/sandbox read, with their types and enumerations.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { Replies } from '../../lib/replies.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const TYPES = ['FileClient', 'FileStreamEvent', 'CommandExecuteResponse', 'CreateSessionResponse', 'DeleteSessionResponse', 'PingResponse', 'ProcessStartResult', 'ProcessListResult', 'ProcessInfoResult', 'ProcessKillResult', 'ProcessLogsResult', 'ProcessCleanupResult', 'ExecEvent', 'LogEvent'];
/** The method of the client whose result each call for files is. */
const METHODS = { read: 'readFile', write: 'writeFile', delete: 'deleteFile', rename: 'renameFile', move: 'moveFile', mkdir: 'mkdir', 'list-files': 'listFiles', exists: 'exists' };
const a = (name) => ({ typesRead: name });
const eventsOf = (text) => text.split('\n').filter((l) => l.startsWith('data: ')).map((l) => JSON.parse(l.slice(6)));

withDaemon('cloudflare: schemas', {}, (d) => {
    it('sessions, commands and processes', async () => {
        const r = new Replies(d, '/dialects/cloudflare');
        const json = (body) => ({ json: body });
        await r.call('GET', '/api/ping', 200, a('PingResponse'));
        await r.call('POST', '/api/session/create', 200, a('CreateSessionResponse'), json({ id: 's', cwd: '/', env: { A: '1' } }));
        await r.call('POST', '/api/execute', 200, a('CommandExecuteResponse'), json({ command: 'echo out; echo err >&2; (exit 3)', sessionId: 's' }));
        const stream = await d.request('POST', '/dialects/cloudflare/api/execute/stream', json({ command: 'echo out; echo err >&2; (exit 3)', sessionId: 's' }));
        for (const e of eventsOf(stream.text)) r.note(`event ${e.type} of execute/stream`, a('ExecEvent'), e);

        await r.call('POST', '/api/process/start', 200, a('ProcessStartResult'), json({ command: 'echo up; sleep 60', processId: 'p', sessionId: 's' }));
        await r.call('GET', '/api/process/list', 200, a('ProcessListResult'));
        await r.call('GET', '/api/process/p', 200, a('ProcessInfoResult'));
        await r.call('GET', '/api/process/p/logs', 200, a('ProcessLogsResult'));
        await r.call('DELETE', '/api/process/p', 200, a('ProcessKillResult'));
        await waitUntil(async () => (await r.call('GET', '/api/process/p', 200, a('ProcessInfoResult'))).process.endTime, 'its end');
        const log = await d.request('GET', '/dialects/cloudflare/api/process/p/stream');
        const [first, ...rest] = eventsOf(log.text);
        assert.equal(first.type, 'process_info'); // the client drops it
        for (const e of rest) r.note(`event ${e.type} of the log`, a('LogEvent'), e);
        await r.call('POST', '/api/process/start', 200, a('ProcessStartResult'), json({ command: 'true', sessionId: 's' }));
        await r.call('DELETE', '/api/process/kill-all', 200, a('ProcessCleanupResult'));
        await r.call('GET', '/api/process/list', 200, a('ProcessListResult'));
        const at = (name) => path.join(d.dir, name);
        const file = (call, body) => r.call('POST', `/api/${call}`, 200, a(`Awaited<ReturnType<FileClient['${METHODS[call]}']>>`), json({ sessionId: 's', ...body }));
        const [f, made] = [at('f.txt'), at('made')];
        await file('write', { path: f, content: 'text' });
        await file('read', { path: f });
        await file('read', { path: f, encoding: 'base64' });
        await file('exists', { path: f });
        await file('mkdir', { path: made });
        await file('rename', { oldPath: f, newPath: at('g') });
        await file('move', { sourcePath: at('g'), destinationPath: at('made/g') });
        await file('list-files', { path: made });
        await file('delete', { path: at('made/g') });
        fs.writeFileSync(f, 'text');
        const bytes = await d.request('POST', '/dialects/cloudflare/api/read/stream', json({ path: f, sessionId: 's' }));
        assert.deepEqual(eventsOf(bytes.text).map((e) => e.type), ['metadata', 'chunk', 'complete']);
        for (const e of eventsOf(bytes.text)) r.note(`event ${e.type} of read/stream`, a('FileStreamEvent'), e);
        await r.call('POST', '/api/session/delete', 200, a('DeleteSessionResponse'), json({ sessionId: 's' }));

        await r.checkTypes([`import type { ${TYPES.join(', ')} } from 'cf-sandbox';`]);
        const socket = 'a WebSocket';
        const bridge = 'of the bridge, which has no types in the package';
        const untyped = 'the package has no type for it';
        r.checkRoutes('cloudflare', {
            'GET /': untyped,
            'GET /health': untyped,
            'GET /ws': socket,
            'GET /api/ws': socket,
            'GET /ws/pty': socket,
            'GET /ws/terminal': socket,
            'PUT /api/': untyped,
            'POST /v1/sandbox': bridge,
            'DELETE /v1/sandbox/{id}': bridge,
            'GET /v1/sandbox/{id}/running': bridge,
            'POST /v1/sandbox/{id}/exec': bridge,
            'GET /v1/sandbox/{id}/pty': socket,
            'POST /v1/sandbox/{id}/session': bridge,
            'DELETE /v1/sandbox/{id}/session/{session}': bridge,
            'GET /v1/sandbox/{id}/file/': bridge,
            'PUT /v1/sandbox/{id}/file/': bridge,
            'GET /api/version': untyped,
            'GET /api/session/list': untyped,
            'POST /api/execute/stream': 'events, checked above',
            'GET /api/process/{id}/stream': 'events, checked above',
            'POST /api/terminal/create': untyped,
            'POST /api/port-watch': 'a stream of events',
            'POST /api/watch': 'a stream without end',
            'POST /api/read/stream': 'events, checked above',
        });
    });
});
