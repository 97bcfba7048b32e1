// SPDX-License-Identifier: Apache-2.0
// The xterm addon in a real xterm (without a screen): what it shows, what it sends, and what it keeps to itself.

import assert from 'node:assert/strict';
import xterm from '@xterm/headless';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { CuttableWebSocket, HoldfastAddon, SandboxAddon, sandboxOf } from '../../lib/sdk.mjs';
import { waitUntil } from '../../lib/wait.mjs';

/** Every cell, with its colours and attributes, and the cursor. */
function cells(term) {
    const b = term.buffer.active;
    const rows = [];
    for (let y = 0; y < b.length; y++) {
        const line = b.getLine(y);
        let row = '';
        for (let x = 0; x < term.cols; x++) {
            const c = line.getCell(x);
            row += `${c.getChars() || ' '}${c.getFgColor()}${c.getBgColor()}${c.isBold() ? 'b' : ''}|`;
        }
        rows.push(row);
    }
    return { rows, cursor: [b.cursorX, b.cursorY], type: b.type };
}
const text = (term) => {
    const b = term.buffer.active;
    return Array.from({ length: b.length }, (_, y) => b.getLine(y).translateToString(true)).join('\n');
};

withDaemon('the xterm addon', {}, (d) => {
    const open = (options = {}, size = { cols: 80, rows: 24 }) => {
        const term = new xterm.Terminal({ ...size, allowProposedApi: true, scrollback: 2000 });
        const states = [];
        const addon = new HoldfastAddon({
            url: d.url,
            token: d.token,
            WebSocket: CuttableWebSocket,
            resizeDelayMs: 10,
            onStateChange: (s, e) => states.push(e ? `${s}!` : s),
            ...options,
        });
        term.loadAddon(addon);
        return { term, addon, states };
    };
    const start = (script, more = {}) => sandboxOf(d).terminal.create({ command: 'bash', args: ['--norc', '-c', script], ...more });
    const shows = (term, what) => waitUntil(() => text(term).includes(what), `${what} on the screen`);

    it('shows the terminal, types into it, and sizes it', async () => {
        const t = await sandboxOf(d).terminal.create({ command: 'bash', args: ['--norc'], env: { PS1: '$ ' }, rows: 10, cols: 40 });
        const { term, addon, states } = open();
        addon.connect(t.id);
        await waitUntil(() => addon.state === 'connected', 'connected');
        term.input('echo $((6 * 7)); stty size\r');
        await shows(term, '42');
        await shows(term, '24 80');
        term.resize(100, 30);
        term.resize(101, 31);
        await waitUntil(async () => (await t.refresh()).cols === 101, 'the new size');
        term.input('exit\r');
        await waitUntil(() => addon.state === 'disconnected', 'the end');
        assert.deepEqual(states, ['connecting', 'connected', 'disconnected']);
        addon.dispose();
    });

    it('is Cloudflare\'s addon by another import', async () => {
        assert.equal(SandboxAddon, HoldfastAddon);
        const t = await sandboxOf(d).terminal.create({ command: 'bash', args: ['--norc'], tag: 'cf-session' });
        globalThis.location = { protocol: 'http:', host: `${d.host}:${d.port}` };
        const asked = [];
        const { term, addon, states } = open({
            url: undefined,
            getWebSocketUrl: (p) => {
                asked.push(p);
                return `${p.origin}/v1/processes/tag:${p.sessionId}/connect`;
            },
        });
        addon.connect({ sandboxId: 'sb', sessionId: 'cf-session' });
        await waitUntil(() => addon.state === 'connected', 'connected');
        assert.deepEqual(asked[0], { sandboxId: 'sb', sessionId: 'cf-session', origin: `ws://${d.host}:${d.port}` });
        assert.deepEqual([addon.sandboxId, addon.sessionId], ['sb', 'cf-session']);
        term.input('echo cf$((1 + 1))\r');
        await shows(term, 'cf2');
        CuttableWebSocket.cutAll();
        await waitUntil(() => states.filter((s) => s === 'connected').length === 2, 'connected again');
        assert.ok(states.includes('disconnected!'), states.join());
        addon.disconnect();
        assert.equal(addon.state, 'disconnected');
        delete globalThis.location;
        await t.kill();
    });

    it('starts a shell where none is named, and after a cut comes back to the same', async () => {
        const { term, addon } = open();
        addon.connect();
        await waitUntil(() => addon.state === 'connected', 'connected');
        const id = addon.connection.processId;
        CuttableWebSocket.cutAll();
        await waitUntil(() => addon.state === 'disconnected', 'the cut');
        await waitUntil(() => addon.state === 'connected', 'connected again');
        assert.equal(addon.connection.processId, id);
        term.input('echo still$((1))\r');
        await shows(term, 'still1');
        addon.dispose();
        await d.remove(id);
    });

    /*
     * The past may hold questions to the terminal (what are you, where is the cursor). They were answered then;
     * an answer now would be typed into whatever runs now.
     */
    it('does not answer questions of the past, and does answer those of the present', async () => {
        const t = await start(
            `stty raw -echo; printf 'old:\\e[c\\e[6n\\e]11;?\\a'; IFS= read -r -d $'\\a' daemon; printf taken; ` +
                `IFS= read -r -n 1 key; printf 'got %q\\r\\n' "$key"; ` +
                `printf '\\e[c'; IFS= read -r -d c answer; printf 'answer %q\\r\\n' "$answer"; sleep 60`,
        );
        await t.waitFor({ text: 'taken' }); // by the daemon, while nobody was there
        const { term, addon } = open();
        addon.connect(t.id);
        await waitUntil(() => addon.state === 'connected', 'connected');
        await shows(term, 'old:');
        await waitUntil(() => addon.connection.pendingInput === 0, 'nothing to be sent');
        term.input('k');
        await shows(term, 'got k');
        await shows(term, "answer $'\\E[?1;2'");
        addon.dispose();
        await t.kill();
    });

    it('of two terminals one answers', async () => {
        const t = await start(`stty raw -echo; echo ready; IFS= read -r -n 1 k; printf '\\e[5n'; cat -v`);
        await t.waitFor({ text: 'ready' });
        const a = open();
        const b = open();
        a.addon.connect(t.id);
        await waitUntil(() => a.addon.state === 'connected', 'the first');
        b.addon.connect(t.id);
        await waitUntil(() => a.addon.connection.viewers?.length === 2 && b.addon.connection.viewers?.length === 2, 'both');
        a.term.input('k');
        await shows(b.term, '^[[0n');
        b.term.input('end');
        await shows(a.term, 'end');
        assert.equal(text(a.term).split('^[[0n').length, 2, text(a.term));
        a.addon.dispose();
        b.addon.dispose();
        await t.kill();
    });

    it('after 20 cuts the screen is that of a terminal that was never cut, cell for cell', async () => {
        const t = await start(
            `for i in $(seq 1 400); do printf '\\e[3%dm%d\\e[1m line %d \\e[0m\\e[4%dm\u4e2d\u6587\\e[0m\\r\\n' $((i % 8)) $i $i $((i % 7)); sleep 0.01; done; printf '\\e[5;7Hhere'; sleep 60`,
        );
        const steady = open();
        const broken = open();
        steady.addon.connect(t.id);
        await waitUntil(() => steady.addon.state === 'connected', 'steady');
        const kept = new Set(CuttableWebSocket.open);
        broken.addon.connect(t.id);
        for (let i = 0; i < 20; i++) {
            await waitUntil(() => broken.addon.state === 'connected', 'the connection');
            await new Promise((next) => setTimeout(next, 10 + 7 * i));
            for (const ws of CuttableWebSocket.open) if (!kept.has(ws)) ws.terminate();
            await waitUntil(() => broken.addon.state !== 'connected', 'the cut');
        }
        await shows(steady.term, 'here');
        await shows(broken.term, 'here');
        assert.deepEqual(cells(broken.term), cells(steady.term));
        steady.addon.dispose();
        broken.addon.dispose();
        await t.kill();
    });

    it('follows the size that another window decides, without an argument about it', async () => {
        const t = await start('sleep 60');
        const a = open({}, { cols: 80, rows: 24 });
        const b = open({}, { cols: 60, rows: 20 });
        a.addon.connect(t.id);
        await waitUntil(() => a.addon.state === 'connected', 'the first');
        b.addon.connect(t.id);
        // Two sizes within the daemon's pause between resizes: b may be greeted with a's, and be told its own after a was.
        const has = ({ term }) => term.cols === 60 && term.rows === 20;
        await waitUntil(() => has(a) && has(b), 'both to have the size of the second');
        a.addon.dispose();
        b.addon.dispose();
        await t.kill();
    });

    it('a size that was on its way when it was disconnected does not keep it from following later', async () => {
        const t = await start('sleep 60');
        const a = open({ resizeDelayMs: 5000 });
        a.addon.connect(t.id);
        await waitUntil(() => a.addon.state === 'connected', 'connected');
        a.term.resize(81, 25);
        a.addon.disconnect();
        a.addon.connect(t.id);
        await waitUntil(async () => (await t.refresh()).cols === 81, 'the size of the second connect');
        await t.resize(20, 60);
        await waitUntil(() => a.term.cols === 60 && a.term.rows === 20, 'the terminal to follow');
        a.addon.dispose();
        await t.kill();
    });

    it('a flood is taken at the pace of the terminal and arrives whole', async () => {
        const t = await start('stty -onlcr; seq 1 200000', { delivery: 'lossless', historyBytes: 4 << 20 });
        let gaps = 0;
        const { term, addon } = open({ since: 0, onEvent: (e) => (gaps += e.type === 'gap' ? 1 : 0) });
        addon.connect(t.id);
        assert.equal((await addon.connection.ended).exitCode, 0);
        await shows(term, '200000');
        assert.equal(gaps, 0);
        addon.dispose();
    });
});
