// SPDX-License-Identifier: Apache-2.0
// POST …/cmd/ID/stdin by raw requests: offsets, repeats, the end of input, refusals, another worker.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const BASE = '/dialects/vercel/api/v2/sandboxes';

withDaemon('vercel: stdin', {}, (d) => {
    const session = async () => (await d.request('GET', `${BASE}/local`)).json.session.id;
    async function start(line, attachStdin = true) {
        const at = `${BASE}/sessions/${await session()}/cmd`;
        const { json } = await d.request('POST', at, { json: { command: 'sh', args: ['-c', line], attachStdin } });
        return { id: json.command.id, send: (json_) => d.request('POST', `${at}/${json.command.id}/stdin`, { json: json_ }) };
    }
    const base64 = (text) => Buffer.from(text).toString('base64');
    const written = async (request) => {
        const r = await request;
        assert.equal(r.status, 200, r.text);
        return r.json.bytesWritten;
    };
    const refused = async (request, status, code) => {
        const r = await request;
        assert.deepEqual([r.status, r.json.error.code], [status, code]);
    };
    const output = async (id) => {
        await waitUntil(async () => (await d.get(id)).status !== 'running', 'the end');
        return (await d.output(id)).toString();
    };

    it('bytes that were written already are skipped, and a gap is refused', async () => {
        const c = await start('cat');
        assert.equal(await written(c.send({})), 0);
        assert.equal(await written(c.send({ data: base64('one'), offset: 0 })), 3);
        assert.equal(await written(c.send({ data: base64('one'), offset: 0 })), 3);
        assert.equal(await written(c.send({ data: base64('onetwo'), offset: 0 })), 6);
        await refused(c.send({ data: base64('x'), offset: 7 }), 400, 'bad_value');
        assert.equal(await written(c.send({ data: base64('!'), offset: 6, close: true })), 7);
        assert.equal(await output(c.id), 'onetwo!');
    });

    it('what comes while earlier input waits has to come again', async () => {
        const c = await start('sleep 1000 & read go; cat | wc -c');
        const big = 'x'.repeat(700000);
        const waits = c.send({ data: base64(big), offset: 0 });
        await waitUntil(async () => (await c.send({ data: base64('y') })).status === 503, 'the first to wait');
        await d.request('DELETE', `/v1/processes/${c.id}?grace_ms=0`);
        await refused(waits, 400, 'command_stdin_unavailable');
    });

    it('the count and the bytes outlive the worker', async () => {
        const c = await start('cat');
        await written(c.send({ data: base64('before'), offset: 0 }));
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await waitUntil(() => d.request('GET', '/healthz').then((a) => a.status === 200), 'the next worker');
        assert.equal(await written(c.send({ data: base64('before'), offset: 0 })), 6);
        assert.equal(await written(c.send({ data: base64(' and after'), offset: 6, close: true })), 16);
        assert.equal(await output(c.id), 'before and after');
    });

    it('without stdin, at its end, and with bodies that are none', async () => {
        const none = await start('exec sleep 100', false);
        await refused(none.send({}), 400, 'command_stdin_unavailable');
        const c = await start('cat');
        for (const [json, code] of [[{ data: 1 }, 'bad_type'], [{ data: '!' }, 'bad_value'], [{ offset: -1 }, 'bad_type'], [{ offset: 'x' }, 'bad_type'], [{ close: 1 }, 'bad_type']])
            await refused(c.send(json), 400, code);
        assert.equal(await written(c.send({ close: true })), 0);
        await refused(c.send({ close: true }), 400, 'command_stdin_unavailable');
        assert.equal(await output(c.id), '');
        await d.remove(none.id);
    });
});
