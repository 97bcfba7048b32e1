// SPDX-License-Identifier: Apache-2.0
//
// Snapshots, as a daemon that has them sends them: bytes that redraw the screen and do not count. The daemon
// here is a script, so that the line can be cut in the middle of one.

import assert from 'node:assert/strict';
import xterm from '@xterm/headless';
import { WebSocketServer } from 'ws';
import { it } from '../../lib/test.mjs';
import { Connection, HoldfastAddon, WebSocket } from '../../lib/sdk.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';

const exit = { kind: 'exited', code: 0, signal: null, by: null, core_dumped: false };
const hello = (offset, more = {}) => ({
    type: 'hello',
    protocol: 'holdfast.v1',
    process: { id: 'proc_x', status: 'running', pty: true, exit: null, output: {}, created_at: '', exited_at: null },
    offset,
    replay_until: offset,
    input_offset: 0,
    role: 'own',
    rows: 24,
    cols: 80,
    viewers: [],
    ...more,
});

/** One step of the script per connection: objects are text frames, strings are bytes, null cuts the line. */
async function scripted(script, body) {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'holdfast.v1' });
    await new Promise((done) => server.once('listening', done));
    const asked = [];
    server.on('connection', (ws, request) => {
        asked.push(Object.fromEntries(new URL(request.url, 'http://x').searchParams));
        for (const step of script.shift() ?? []) {
            if (step === null) ws.terminate();
            else if (typeof step === 'string') ws.send(Buffer.from(step));
            else ws.send(JSON.stringify(step));
        }
    });
    try {
        await body(`ws://127.0.0.1:${server.address().port}/`, asked);
    } finally {
        server.clients.forEach((c) => c.terminate());
        server.close();
    }
}

const dial = (url, options) =>
    new Connection(
        { WebSocket, protocols: ['holdfast.v1'], url: (query) => `${url}?${new URLSearchParams(query)}` },
        { reconnect: { baseMs: 1, maxMs: 5 }, ...options },
    );

async function all(connection) {
    const seen = [];
    for await (const e of connection.events()) seen.push(e.data ? [e.type, e.offset, Buffer.from(e.data).toString()] : [e.type]);
    return seen;
}

it('a snapshot in several frames is one event and counts for nothing', () =>
    scripted(
        [[hello(1000), { type: 'snapshot', offset: 1000, bytes: 6 }, 'abc', 'defLIVE', { type: 'exit', exit, exit_code: 0, offset: 1004 }]],
        async (url, asked) => {
            const c = dial(url, { since: 'screen' });
            assert.deepEqual(await within(all(c), 5000, 'the exit'), [['snapshot', 1000, 'abcdef'], ['output', 1000, 'LIVE'], ['exit']]);
            assert.equal(asked[0].since, 'screen');
            assert.equal(c.offset, 1004);
        },
    ));

it('cut inside a snapshot, it asks for the screen again; cut behind it, for the rest', () =>
    scripted(
        [
            [hello(10), { type: 'snapshot', offset: 10, bytes: 6 }, 'abc', null],
            [hello(12), { type: 'snapshot', offset: 12, bytes: 2 }, 'AB', { type: 'replay_done', offset: 12 }, 'xy', null],
            [hello(14), 'z', { type: 'gap', from: 15, to: 100 }, null],
            [hello(100), { type: 'snapshot', offset: 100, bytes: 1 }, 'S', { type: 'exit', exit, exit_code: 0, offset: 100 }],
        ],
        async (url, asked) => {
            const seen = await within(all(dial(url, { since: 'screen' })), 5000, 'the exit');
            assert.deepEqual(asked.map((q) => q.since), ['screen', 'screen', '14', 'screen']);
            assert.deepEqual(seen, [['snapshot', 12, 'AB'], ['output', 12, 'xy'], ['output', 14, 'z'], ['gap'], ['snapshot', 100, 'S'], ['exit']]);
        },
    ));

it('one that asked for bytes goes on with bytes after a gap, whatever it was shown', () =>
    scripted(
        [
            [hello(0), 'ab', { type: 'gap', from: 2, to: 50 }, { type: 'snapshot', offset: 50, bytes: 3 }, 's', null],
            [hello(50), 'cd', { type: 'exit', exit, exit_code: 0, offset: 52 }],
        ],
        async (url, asked) => {
            const seen = await within(all(dial(url)), 5000, 'the exit');
            assert.deepEqual(asked.map((q) => q.since), ['0', '50']);
            assert.deepEqual(seen, [['output', 0, 'ab'], ['gap'], ['output', 50, 'cd'], ['exit']]);
        },
    ));

it('the addon draws a snapshot on an empty screen, and what follows behind it', () =>
    scripted(
        [[hello(5), { type: 'snapshot', offset: 5, bytes: 10 }, '\x1b[3;3Hsnap', { type: 'replay_done', offset: 5 }, '-live', { type: 'gap', from: 10, to: 20 }, { type: 'snapshot', offset: 20, bytes: 5 }, 'fresh']],
        async (url) => {
            const term = new xterm.Terminal({ cols: 80, rows: 24, allowProposedApi: true });
            const addon = new HoldfastAddon({ getWebSocketUrl: () => url, WebSocket });
            term.loadAddon(addon);
            addon.connect();
            const line = (y) => term.buffer.active.getLine(y).translateToString(true);
            await waitUntil(() => line(0) === 'fresh', 'the second snapshot');
            assert.equal(line(2), '', 'nothing of the first is left');
            addon.dispose();
        },
    ));

it('frames that make no sense end the connection with an error', async () => {
    for (const script of [['bytes first'], [{ type: 'exit' }], [hello(0), { type: 'exit' }]]) {
        await scripted([script], async (url) => {
            const c = dial(url);
            await assert.rejects(within(all(c), 5000, 'the end'), { code: 'protocol' });
        });
    }
    await scripted([[hello(0), 'abc', null], [hello(7)]], async (url) => {
        await assert.rejects(within(all(dial(url)), 5000, 'the end'), /requested offset 3/);
    });
});
