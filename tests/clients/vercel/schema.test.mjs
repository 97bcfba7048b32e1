// SPDX-License-Identifier: Apache-2.0
// Every reply is what the schemas of npm @vercel/sandbox (3.5.0, and 1.10.2 for the first protocol) say it is, and has what PyPI vercel-sandbox reads.

import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { Replies } from '../../lib/replies.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const schemasOf = (name) => import(path.join(import.meta.dirname, '../../node_modules', name, 'dist/api-client/validators.js'));
/** Parts of a reply, which the schemas close; the whole they leave open. */
const PARTS = { session: 'Session', sessions: 'Session', sandbox: 'Sandbox', sandboxes: 'Sandbox', command: 'Command', commands: 'Command', routes: 'SandboxRoute' };

/** Makes calls whose replies are `zod` as a whole and by their parts, and what `python` reads. */
function caller(r) {
    return async (method, where, zod, python, body) => {
        const json = await r.call(method, where, 200, { ...(zod ? { zod } : {}), ...(python ? { reads: `vercel.sandbox._internal.api_client:_${python}` } : {}) }, { json: body });
        for (const [key, value] of Object.entries(json))
            for (const part of [value].flat()) if (PARTS[key]) r.note(`${key} of ${method} ${where}`, { zod: PARTS[key] }, part);
        return json;
    };
}

withDaemon('vercel: schemas', {}, (d) => {
    it('sandboxes, sessions and commands', async () => {
        const r = new Replies(d, '/dialects/vercel');
        const ask = caller(r);
        const v2 = '/api/v2/sandboxes';
        const made = await ask('POST', v2, 'SandboxAndSessionResponse', 'SandboxResponse', { projectId: 'prj_1', name: 'box', timeout: 60000 });
        await ask('POST', '/api/v3/sandboxes', 'SandboxAndSessionResponse', 'SandboxResponse', { projectId: 'prj_1', name: 'box3' });
        await ask('GET', `${v2}?projectId=prj_1`, 'SandboxesPaginationResponse', 'SandboxesResponse');
        await ask('GET', `${v2}/box?projectId=prj_1`, 'SandboxAndSessionResponse', 'SandboxResponse');
        await ask('PATCH', `${v2}/box?projectId=prj_1`, 'UpdateSandboxResponse', 'SandboxResponse', { timeout: 61000 });
        await ask('GET', `${v2}/sessions?projectId=prj_1&name=box`, 'SessionsResponse', 'RuntimeSessionsResponse');
        const at = `${v2}/sessions/${made.session.id}`;
        await ask('GET', at, 'SessionAndRoutesResponse', 'RuntimeSessionResponse');
        await ask('POST', `${at}/extend-timeout`, 'SessionResponse', 'RuntimeSessionResponse', { duration: 1000 });
        const { command } = await ask('POST', `${at}/cmd`, 'CommandResponse', 'CommandResponse', { command: 'sh', args: ['-c', 'cat; exit 3'], cwd: '/', env: {}, attachStdin: true });
        await ask('POST', `${at}/cmd/${command.id}/stdin`, null, 'CommandStdinResponse', { data: 'eA==', offset: 0, close: true });
        await waitUntil(async () => (await ask('GET', `${at}/cmd/${command.id}`, 'CommandResponse', 'CommandResponse')).command.exitCode === 3, 'the exit');
        await ask('GET', `${at}/cmd/${command.id}?wait=true`, 'CommandFinishedResponse', 'CommandResponse');
        await ask('GET', `${at}/cmd`, null, 'CommandsResponse');
        const sleep = await ask('POST', `${at}/cmd`, 'CommandResponse', 'CommandResponse', { command: 'sleep', args: ['60'], env: {} });
        await ask('POST', `${at}/cmd/${sleep.command.id}/kill`, 'CommandResponse', 'CommandResponse', { signal: 15 });
        await ask('POST', `${at}/interactive`, 'InteractiveSessionResponse', 'InteractiveSessionResponse', {});
        await ask('POST', `${at}/network-policy`, 'SessionResponse', 'RuntimeSessionResponse', { mode: 'allow-all' });
        await ask('POST', `${at}/fs/mkdir`, 'EmptyResponse', null, { path: 'dir' });
        await ask('POST', `${at}/stop`, 'StopSessionResponse', 'RuntimeSessionResponse', {});
        await ask('DELETE', `${v2}/box?projectId=prj_1`, null, 'SandboxResponse');
        await r.checkPython();
        r.checkZod(await schemasOf('vercel-sandbox'));
        const at2 = '/api/v2/sandboxes/sessions/{session}';
        r.checkRoutes(
            'vercel',
            {
                'GET /health': 'no schema has it',
                [`GET ${at2}/cmd/{id}/logs`]: 'a stream of lines',
                [`POST ${at2}/fs/read`]: 'the bytes of a file',
                [`POST ${at2}/fs/write`]: 'an archive',
                'GET /interactive/{session}': 'a WebSocket',
            },
            { same: /^\/api\/v1\// },
        );
    });

    it('the first protocol', async () => {
        const r = new Replies(d, '/dialects/vercel');
        const ask = caller(r);
        const v1 = '/api/v1/sandboxes';
        const { sandbox } = await ask('POST', v1, 'SandboxAndRoutesResponse', null, { projectId: 'prj_1', timeout: 60000 });
        const at = `${v1}/${sandbox.id}`;
        await ask('GET', `${v1}?project=prj_1`, 'SandboxesResponse');
        await ask('GET', at, 'SandboxAndRoutesResponse');
        await ask('POST', `${at}/extend-timeout`, 'ExtendTimeoutResponse', null, { duration: 1000 });
        const { command } = await ask('POST', `${at}/cmd`, 'CommandResponse', null, { command: 'sh', args: ['-c', 'exit 3'], cwd: '/', env: {} });
        await ask('GET', `${at}/cmd/${command.id}?wait=true`, 'CommandFinishedResponse');
        const sleep = await ask('POST', `${at}/cmd`, 'CommandResponse', null, { command: 'sleep', args: ['60'], env: {} });
        await ask('POST', `${at}/${sleep.command.id}/kill`, 'CommandResponse', null, { signal: 15 });
        await ask('GET', `${at}/cmd`, null);
        await ask('POST', `${at}/stop`, 'SandboxResponse', null, {});
        r.checkZod(await schemasOf('@vercel/sandbox'));
        const at1 = '/api/v1/sandboxes/{session}';
        r.checkRoutes(
            'vercel',
            {
                [`GET ${at1}/cmd/{id}/logs`]: 'a stream of lines',
                [`POST ${at1}/fs/mkdir`]: 'the same as in the second protocol',
                [`POST ${at1}/fs/read`]: 'the bytes of a file',
                [`POST ${at1}/fs/write`]: 'an archive',
            },
            { same: /^(?!\/api\/v1\/)/ },
        );
    });
});
