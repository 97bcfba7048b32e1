// SPDX-License-Identifier: Apache-2.0
// Every reply is what the models of PyPI opensandbox (execd and the lifecycle API) say it is, strictly.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { PREFIX } from '../../lib/opensandbox.mjs';
import { Replies } from '../../lib/replies.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const execd = (name) => ({ python: `opensandbox.api.execd.models:${name}` });
const lifecycle = (name) => ({ python: `opensandbox.api.lifecycle.models:${name}` });
const ERROR = execd('ErrorResponse');

/** Each event of a stream is a ServerStreamEvent. */
async function streamed(d, r, where, body) {
    const a = await d.request('POST', PREFIX + where, { json: body });
    assert.equal(a.status, 200, a.text);
    const events = a.text.split('\n').filter((l) => /^(data: ?)?\{/.test(l)).map((l) => JSON.parse(l.replace(/^data: ?/, '')));
    assert.ok(events.length > 1, a.text);
    // The position that a resume takes is ours: released clients do not know it.
    for (const { eid: _ours, ...e } of events) r.note(`event ${e.type} of POST ${where}`, execd('ServerStreamEvent'), e);
    r.made.add(`POST ${where}`);
    return events;
}

withDaemon('opensandbox: schemas', {}, (d) => {
    it('commands, sessions, files and metrics', async () => {
        const r = new Replies(d, PREFIX);
        await r.call('GET', '/ping', 200);
        await r.call('GET', '/metrics', 200, execd('Metrics'));
        const json = (body) => ({ json: body });

        await streamed(d, r, '/command', { command: 'echo out; echo err >&2; exit 3' });
        await streamed(d, r, '/command', { command: 'sleep 60', timeout: 200 });
        await streamed(d, r, '/command', { command: 'nothing-like-this-exists' });
        const id = (await streamed(d, r, '/command', { command: 'sleep 60', background: true })).find((e) => e.type === 'init').text;
        const running = await r.call('GET', `/command/status/${id}`, 200, execd('CommandStatusResponse'));
        assert.equal(running.running, true);
        await r.call('DELETE', `/command?id=${id}`, 200);
        await waitUntil(async () => !(await r.call('GET', `/command/status/${id}`, 200, execd('CommandStatusResponse'))).running, 'its end');
        await r.call('GET', '/command/status/none', 404, ERROR);
        await r.call('GET', '/command/none/logs', 400, ERROR);
        await r.call('GET', '/command/none/resume', 404, ERROR);
        await r.call('POST', '/command', 400, ERROR, json({}));
        await r.call('POST', '/command', 400, ERROR, { body: '{' });
        await r.call('DELETE', '/command', 400, ERROR);

        const { session_id } = await r.call('POST', '/session', 200, execd('CreateSessionResponse'), json({ cwd: '/' }));
        await streamed(d, r, `/session/${session_id}/run`, { command: 'pwd' });
        await r.call('POST', `/session/${session_id}/run`, 400, ERROR, json({}));
        await r.call('DELETE', `/session/${session_id}`, 200);
        await r.call('DELETE', `/session/${session_id}`, 404, ERROR);

        const dir = path.join(d.dir, 'files');
        const at = (name) => path.join(dir, name);
        const q = (name) => encodeURIComponent(at(name));
        for (const base of ['', `/v1/filesystem/${process.getuid()}/${process.getgid()}`]) {
            await r.call('POST', `${base}/directories`, 200, null, json({ [dir]: { mode: 755 }, [at('sub')]: { mode: 755 } }));
            fs.writeFileSync(at('one'), 'old\n');
            await r.call('GET', `${base}/files/info?path=${q('one')}&path=${q('sub')}`, 200, execd('GetFilesInfoResponse200'));
            await r.call('GET', `${base}/files/search?path=${q('.')}&pattern=*`, 200, execd('FileInfo[]'));
            await r.call('GET', `${base}/directories/list?path=${q('.')}`, 200, execd('FileInfo[]'));
            await r.call('POST', `${base}/files/permissions`, 200, null, json({ [at('one')]: { mode: 600 } }));
            await r.call('POST', `${base}/files/replace?verbose=true`, 200, execd('ReplaceContentResponse200'), json({ [at('one')]: { old: 'old', new: 'new' } }));
            await r.call('POST', `${base}/files/mv`, 200, null, json([{ src: at('one'), dest: at('two') }]));
            await r.call('GET', `${base}/files/info?path=${q('none')}`, 404, ERROR);
            await r.call('GET', `${base}/files/download?path=${q('none')}`, 404, ERROR);
            await r.call('GET', `${base}/directories/list?path=${q('none')}`, 404, ERROR);
            await r.call('POST', `${base}/files/mv`, 404, ERROR, json([{ src: at('none'), dest: at('two') }]));
            await r.call('POST', `${base}/files/mv`, 400, ERROR, json({}));
            await r.call('DELETE', `${base}/files?path=${q('two')}`, 200);
            await r.call('DELETE', `${base}/directories?path=${encodeURIComponent(dir)}`, 200);
        }

        const box = await r.call('POST', '/v1/sandboxes', 202, lifecycle('CreateSandboxResponse'), json({ image: { uri: 'x' }, metadata: { a: 'b' }, entrypoint: ['sleep', '1'], resourceLimits: {} }));
        await r.call('GET', '/v1/sandboxes', 200, lifecycle('ListSandboxesResponse'));
        await r.call('GET', `/v1/sandboxes/${box.id}`, 200, lifecycle('Sandbox'));
        await r.call('PATCH', `/v1/sandboxes/${box.id}/metadata`, 200, lifecycle('Sandbox'), json({ c: 'd' }));
        await r.call('GET', `/v1/sandboxes/${box.id}/endpoints/44772`, 200, lifecycle('Endpoint'));
        await r.call('GET', '/v1/sandboxes', 401, lifecycle('ErrorResponse'), { role: 'wrong-wrong-wrong-wrong' });
        await r.call('POST', `/v1/sandboxes/${box.id}/pause`, 501, lifecycle('ErrorResponse'));
        await r.call('POST', '/v1/metrics/events', 204, null, json({}));
        await r.call('GET', '/code/contexts', 501, ERROR);
        await r.call('GET', '/v1/isolated/session', 501, ERROR);
        await r.call('GET', '/v1/isolated/capabilities', 200, execd('CapabilitiesResponse'));
        await r.call('DELETE', `/v1/sandboxes/${box.id}`, 204);
        await r.checkPython('opensandbox');
        const ours = 'not in the models: terminals and their sockets';
        const refused = 'refused as a whole, as the calls above';
        const upload = 'multipart, without a reply';
        r.checkRoutes(
            'opensandbox',
            {
                'GET /command': 'a WebSocket',
                'POST /pty': ours,
                'GET /pty/{id}': ours,
                'DELETE /pty/{id}': ours,
                'GET /pty/{id}/ws': ours,
                'GET /ws/session/{id}': ours,
                'GET /terminal': ours,
                'GET /metrics/watch': 'a stream without end',
                'POST /v1/isolated': refused,
                'PUT /v1/isolated': refused,
                'PATCH /v1/isolated': refused,
                'DELETE /v1/isolated': refused,
                'POST /code': refused,
                'PUT /code': refused,
                'PATCH /code': refused,
                'DELETE /code': refused,
                'POST /files/upload': upload,
                'POST /v1/filesystem/{uid}/{gid}/files/upload': upload,
                'PUT /v1/sandboxes/{sandbox}': refused,
            },
            { same: /\/proxy\// },
        );
    });
});
