// SPDX-License-Identifier: Apache-2.0
// The JSON gateway of Gitpod's TerminalService, as curl asks it.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { withDaemon } from '../../lib/daemon.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { OPTIONS, clientsOf, portOf } from './client.mjs';

const run = promisify(execFile);

withDaemon('gitpod: gateway', OPTIONS, (d) => {
    const client = clientsOf(d);
    const base = () => `http://127.0.0.1:${portOf(d)}`;
    const curl = async (path, ...more) => {
        const auth = ['-H', `x-gitpod-owner-token: ${d.token}`];
        const { stdout } = await run('curl', ['-sS', '-w', '\n%{http_code}', ...auth, ...more, `${base()}${path}`]);
        const at = stdout.lastIndexOf('\n');
        return { status: Number(stdout.slice(at + 1)), text: stdout.slice(0, at) };
    };
    const json = async (...args) => {
        const a = await curl(...args);
        return { status: a.status, ...JSON.parse(a.text) };
    };

    it('list and get are JSON with every field', async () => {
        assert.deepEqual(await json('/_supervisor/v1/terminal/list'), { status: 200, terminals: [] });
        const c = client();
        const t = await c.open({ annotations: { a: 'b' }, workdir: '/' });
        const { terminals } = await json('/_supervisor/v1/terminal/list');
        assert.deepEqual(terminals, [
            {
                alias: t.alias,
                command: t.command,
                title: 'bash',
                pid: String(t.pid),
                initialWorkdir: '/',
                currentWorkdir: '/',
                annotations: { a: 'b' },
                titleSource: 'process',
            },
        ]);
        const one = await json(`/v1/terminal/get/${t.alias}`);
        assert.equal(one.alias, t.alias);
        assert.deepEqual(await json('/_supervisor/v1/terminal/get/none'), {
            status: 404,
            code: 5,
            message: 'terminal not found',
            details: [],
        });
        await c.shutdown(t.alias);
    });

    it('listen is lines of JSON to the exit; write and shutdown work', async () => {
        const c = client();
        const t = await c.open({ shell: 'sh', args: ['-c', 'read x; echo "got $x"; exit 4'] });
        const listening = curl(`/_supervisor/v1/terminal/listen/${t.alias}`, '-N');
        const stdin = encodeURIComponent(Buffer.from('a?\u00e9>\n').toString('base64'));
        const w = await json(`/_supervisor/v1/terminal/write/${t.alias}?stdin=${stdin}`, '-X', 'POST');
        assert.deepEqual(w, { status: 200, bytesWritten: 6 });
        const lines = (await listening).text.trim().split('\n').map((l) => JSON.parse(l).result);
        const text = Buffer.concat(lines.filter((l) => 'data' in l).map((l) => Buffer.from(l.data, 'base64'))).toString();
        assert.match(text, /got a\?\u00e9>\r\n$/);
        assert.ok(lines.some((l) => l.title === 'sh' && l.titleSource === 'process'));
        assert.deepEqual(lines.at(-1), { exitCode: 4, titleSource: 'process' });
        const s = await c.open();
        assert.deepEqual(await json(`/_supervisor/v1/terminal/shutdown/${s.alias}`), { status: 200 });
        await waitUntil(async () => (await c.list()).length === 0, 'its end');
        assert.equal((await json(`/_supervisor/v1/terminal/shutdown/${s.alias}`)).message, 'not found');
    });

    it('refusals have the shape of the gateway', async () => {
        const ask = async (path, options) => {
            const a = await fetch(`${base()}${path}`, options);
            return { status: a.status, ...(await a.json()) };
        };
        const auth = { headers: { authorization: `Bearer ${d.token}` } };
        const none = await ask('/_supervisor/v1/terminal/list');
        assert.deepEqual([none.status, none.code, none.details], [401, 16, []]);
        assert.deepEqual([(await ask('/nothing', auth)).status, (await ask('/nothing', auth)).code], [404, 5]);
        assert.equal((await ask('/_supervisor/v1/terminal/list', { ...auth, method: 'DELETE' })).status, 405);
        const c = client();
        const t = await c.open();
        const bad = await ask(`/_supervisor/v1/terminal/write/${t.alias}?stdin=%25`, { ...auth, method: 'POST' });
        assert.deepEqual([bad.status, bad.code], [400, 3]);
        const site = await ask(`/_supervisor/v1/terminal/shutdown/${t.alias}`, {
            headers: { ...auth.headers, 'sec-fetch-site': 'cross-site' },
        }).catch((e) => e);
        assert.ok(site.status === 403 || site instanceof Error);
        assert.equal((await ask('/supervisor.TerminalService/List', { ...auth, method: 'POST', body: '{}' })).status, 415);
        await c.shutdown(t.alias).catch(() => {});
    });
});
