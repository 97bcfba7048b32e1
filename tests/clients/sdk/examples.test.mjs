// SPDX-License-Identifier: Apache-2.0
// The examples do what they say.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { it } from '../../lib/test.mjs';
import { root, withDaemon } from '../../lib/daemon.mjs';
import { WebSocket } from '../../lib/sdk.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('the examples', {}, (d) => {
    const env = () => ({ ...process.env, HOLDFAST_URL: d.url, HOLDFAST_TOKEN: d.token, PORT: '0' });
    const example = (name) => path.join(root, 'examples', name);

    it('agent-loop.mjs starts a server, waits for it, reads its log and ends it', () => {
        const { status, stdout, stderr } = spawnSync('node', [example('agent-loop.mjs')], { env: env(), encoding: 'utf8', timeout: 60_000 });
        assert.equal(status, 0, stderr);
        assert.match(stdout, /it replied hello agent\nit logged GET \/agent\nterminated by SIGTERM survivors 0/);
    });

    /** The server of together.mjs for as long as `body` runs; `join` is one more browser. */
    async function together(body) {
        const child = spawn('node', [example('together.mjs')], { env: env(), stdio: ['ignore', 'pipe', 'inherit'] });
        let out = '';
        child.stdout.on('data', (b) => (out += b));
        try {
            const url = await waitUntil(() => /http:\/\/\S+/.exec(out)?.[0], 'the address');
            await body(() => {
                const person = { text: '', news: null, ws: new WebSocket(url.replace('http', 'ws')) };
                person.ws.on('message', (data, isBinary) => (isBinary ? (person.text += data) : (person.news = JSON.parse(data))));
                return person;
            });
        } finally {
            child.kill('SIGTERM');
            await new Promise((done) => child.once('exit', done));
        }
    }

    it('together.mjs has several people at one terminal, one of whom types', () =>
        together(async (join) => {
            const a = join();
            await waitUntil(() => a.news?.writer === 'guest-1', 'the first');
            const b = join();
            await waitUntil(() => a.news.people.length === 2, 'both');
            b.ws.send(Buffer.from('echo not mine\r'));
            a.ws.send(Buffer.from('echo $((6 * 7))\r'));
            await waitUntil(() => a.text.includes('42') && b.text.includes('42'), 'the same for both');
            b.ws.send('take');
            await waitUntil(() => a.news.writer === 'guest-2', 'the other writer');
            b.ws.send(Buffer.from('echo now$((1))\r'));
            await waitUntil(() => a.text.includes('now1'), 'what the other types');
            assert.ok(!a.text.includes('not mine'));
            a.ws.close();
            b.ws.close();
        }));

    it('together.mjs forgets who goes before the daemon has answered, and keeps what was typed by then', () =>
        together(async (join) => {
            const worker = d.workerPid();
            process.kill(worker, 'SIGSTOP');
            let b;
            try {
                const a = join();
                await once(a.ws, 'open');
                a.ws.close();
                await once(a.ws, 'close');
                b = join();
                await once(b.ws, 'open');
                b.ws.send('take');
                b.ws.send(Buffer.from('echo early$((1))\r'));
            } finally {
                process.kill(worker, 'SIGCONT');
            }
            await waitUntil(() => b.text.includes('early1'), 'what was typed early');
            assert.deepEqual(b.news, { people: ['guest-2'], writer: 'guest-2' });
            b.ws.close();
        }));
});
