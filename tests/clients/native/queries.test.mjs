// SPDX-License-Identifier: Apache-2.0
//
// A terminal answers queries by typing. Whatever is shown again, whoever looks on, and however
// often somebody comes back: the program gets the answers it asked for, once, and
// nothing else. The terminals here are xterm.js's, which answer by themselves.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { refusedHandshake, Viewer } from '../../lib/client.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { scaled } from '../../lib/scale.mjs';
import { it } from '../../lib/test.mjs';
import { holdsFor, waitUntil } from '../../lib/wait.mjs';
import { Reference } from '../../lib/xterm.mjs';

const RECONNECTS = scaled(200, 25);
const ESC = '\x1b';

/** A viewer with a terminal behind it that types its answers, as the page does. */
async function attachTerminal(d, id, query = {}) {
    const term = new Reference(24, 80);
    const v = new Viewer(d, id, { query, onBytes: (at, bytes) => term.write(bytes) });
    v.term = term;
    v.ws.on('message', (data, isBinary) => {
        if (isBinary && v.shown !== v.snapshots.length && v.snapshotLeft === 0) {
            v.shown = v.snapshots.length;
            term.write(v.snapshot);
        }
    });
    v.sent = '';
    term.term.onData((data) => {
        v.sent += data;
        if (v.ws.readyState === 1) v.ws.send(Buffer.from(data), { binary: true });
    });
    await v.opened;
    await v.message('replay_done');
    return v;
}

/** Reads what is typed at it and writes it in hexadecimal, after it has asked something. */
const echoHex = (ask) => `stty raw -echo; printf '${ask}'; echo READY; exec od -An -v -tx1 -w1`;
const hex = (text) => [...Buffer.from(text)].map((b) => b.toString(16).padStart(2, '0'));
const typed = (out) => out.toString().split('READY')[1].match(/\b[0-9a-f]{2}\b/g) ?? [];

withDaemon('queries', {}, (d) => {
    it('with nobody attached the daemon answers, in order', async () => {
        const ask = '\\033[5n\\033[3;5H\\033[6n\\033[c\\033[>c\\033[?25$p\\033[?2004$p\\033[4$p\\033[>q\\033]11;?\\007\\033]10;?\\033\\\\\\033[?6n';
        const p = await d.sh(echoHex(ask), { pty: true });
        const { version } = (await d.api('GET', '/v1/info')).json;
        const want = `${ESC}[0n${ESC}[3;5R${ESC}[?1;2c${ESC}[>0;276;0c${ESC}[?25;1$y${ESC}[?2004;2$y${ESC}[4;2$y${ESC}P>|holdfast(${version})${ESC}\\${ESC}]11;rgb:0000/0000/0000\x07${ESC}]10;rgb:ffff/ffff/ffff${ESC}\\${ESC}[?3;5R`;
        await waitUntil(async () => typed(await d.output(p.id)).length >= want.length, 'the answers', 15000).catch(() => {});
        assert.deepEqual(typed(await d.output(p.id)), hex(want));
        await d.remove(p.id);
    });

    it('what is replayed provokes no answer, at any since', async () => {
        const p = await d.sh(`stty raw -echo; printf '\\033[c\\033[6n\\033]11;?\\007\\033[?2026$p\\033[>q\\033Z\\005text'; echo READY; cat >/dev/null`, { pty: true });
        await d.outputHas(p.id, 'READY');
        const raw = await d.output(p.id);
        for (const since of ['0', '-40', 'screen', 'now', '3', '7', '12']) {
            const v = await attachTerminal(d, p.id, { since });
            await holdsFor(20, () => v.sent === '', `no answer with since=${since}: ${JSON.stringify(v.sent)}`);
            assert.equal(v.at, raw.length, 'the offsets are as ever');
            if (since === '0') assert.equal(v.output.length, raw.length);
            assert.equal(await v.detach(), 1000);
        }
        await d.remove(p.id);
    });

    it('who is no terminal gets the bytes as they are, and the daemon answers', async () => {
        const p = await d.sh(`stty raw -echo; echo READY; dd bs=1 count=1 2>/dev/null; printf '\\033[5n'; exec od -An -v -tx1 -w1`, { pty: true });
        await d.outputHas(p.id, 'READY');
        const v = await Viewer.attach(d, p.id, { query: { terminal: '0', since: '0' } });
        await v.send('x');
        await v.until(() => v.output.toString().match(/1b\s+5b\s+30\s+6e/), 10000, 'the answer');
        assert.ok(v.output.includes('\x1b[5n') && v.snapshots.length === 0);
        assert.ok((await d.output(p.id)).equals(v.output));
        const r = await refusedHandshake(d, p.id, { query: { terminal: '0', since: 'screen' } });
        assert.equal(r.problem.code, 'bad_query');
        v.cut();
        await d.remove(p.id);
    });

    it('of several terminals the one that typed last answers', async () => {
        const p = await d.sh(`stty raw -echo; echo READY; while :; do dd bs=1 count=1 2>/dev/null | od -An -tx1; printf '\\033[5n'; done`, { pty: true });
        await d.outputHas(p.id, 'READY');
        const a = await attachTerminal(d, p.id);
        const b = await attachTerminal(d, p.id);
        const c = await attachTerminal(d, p.id, { mode: 'ro' });
        for (const [who, others, key] of [[a, [b, c], 'x'], [b, [a, c], 'y'], [a, [b, c], 'z']]) {
            [a, b, c].forEach((v) => (v.sent = ''));
            await who.send(key);
            await who.until(() => who.sent.length >= 4, 10000, 'its answer');
            assert.equal(who.sent.slice(0, 4), `${ESC}[0n`);
            // What another was asked before the key came, it may still have answered; from here on nothing.
            const mark = who.at;
            for (const v of others) await v.until(() => v.at >= mark, 10000, 'the same output');
            others.forEach((v) => (v.sent = ''));
            // The answer is read byte by byte, and each byte makes the next question: enough is enough.
            await who.until(() => who.at > mark + 40, 10000, 'some output');
            for (const v of others) assert.equal(v.sent, '', 'another one answered');
        }
        for (const v of [a, b, c]) v.cut();
        await d.remove(p.id);
    });

    it('an answer that comes late does not make its terminal the one that answers', async () => {
        const p = await d.sh(`stty raw -echo; echo READY; dd bs=1 count=5 of=/dev/null 2>&1; printf 'now\\033[5n'; sleep 300`, { pty: true });
        await d.outputHas(p.id, 'READY');
        const a = await Viewer.attach(d, p.id, { query: { since: '0' } });
        const b = await Viewer.attach(d, p.id, { query: { since: '0' } });
        await b.send('y');
        await waitUntil(async () => (await d.get(p.id)).last_input_at !== null, 'the key');
        await a.send(`${ESC}[0n`);
        await a.outputHas('now');
        await b.until(() => b.output.includes(`now${ESC}[5n`), 10000, 'the question');
        await a.until(() => a.at === b.at, 10000, 'as many bytes');
        assert.ok(!a.output.includes(`${ESC}[5n`), 'both were asked');
        for (const v of [a, b]) v.cut();
        await d.remove(p.id);
    });

    const ANSWERS = /\x1b\[\?1;2c|\x1b\[\d+;\d+R|\x1b\]11;rgb:[0-9a-f/]+(\x07|\x1b\\)/g;
    const SINCE = ['0', 'screen', '-500'];

    it(`${RECONNECTS} reconnects in the middle of a loop of queries bring only answers`, async () => {
        const log = `${d.dir}/typed.log`;
        const loop = `(while :; do printf '\\033[c\\033[6n\\033]11;?\\007'; sleep 0.05; done) &`;
        const p = await d.sh(`stty raw -echo; exec 3<&0; ${loop} exec cat <&3 >${log}`, { pty: true });
        await waitUntil(async () => (await d.get(p.id)).output.next > 50, 'the loop');
        for (let i = 0; i < RECONNECTS; i++) {
            const v = await attachTerminal(d, p.id, { since: SINCE[i % 3] });
            if (i % 2) v.cut();
            else await v.detach();
        }
        await d.remove(p.id, '?grace_ms=200');
        const all = fs.readFileSync(log, 'latin1');
        const rest = all.replace(ANSWERS, '');
        assert.ok(all.length > 100, 'the loop was answered');
        // What is left may be the beginning of the last answer, never anything in between.
        assert.ok(all.endsWith(rest) && rest.length < 40, `stray bytes: ${JSON.stringify(rest)}`);
    });

    it(`${RECONNECTS} reconnects in the middle of vim leave its text alone`, async () => {
        const file = `${d.dir}/edited.txt`;
        const p = await d.sh(`exec vim -u NONE -N -c "set ruler ttimeoutlen=50" ${file}`, { pty: { rows: 24, cols: 80 } });
        await d.outputHas(p.id, '0,0-1');
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: 'ihello' } });
        await d.outputHas(p.id, 'hello');
        for (let i = 0; i < RECONNECTS; i++) {
            const v = await attachTerminal(d, p.id, { since: SINCE[i % 3] });
            assert.equal(v.sent, '', `an answer to the past: ${JSON.stringify(v.sent)}`);
            v.cut();
        }
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { keys: ['Escape'] } });
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: ':wq\r' } });
        assert.equal((await d.exitOf(p.id)).exit_code, 0);
        assert.equal(fs.readFileSync(file, 'utf8'), 'hello\n');
    });

    it(`${RECONNECTS} reconnects at a prompt leave the line empty`, async () => {
        const p = await d.sh('exec bash --norc -i', { pty: true, env: { PS1: 'PROMPT> ' } });
        await d.outputHas(p.id, 'PROMPT> ');
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: `printf '\\033[c\\033[6n\\033]11;?\\007'; read -rs -t 1 -n 60; echo do""ne\r` } });
        await d.outputHas(p.id, 'done', 15000);
        for (let i = 0; i < RECONNECTS; i++) {
            const v = await attachTerminal(d, p.id, { since: SINCE[i % 3] });
            assert.equal(v.sent, '');
            v.cut();
        }
        const from = (await d.get(p.id)).output.next;
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: 'echo "[$READLINE_LINE]" clean\r' } });
        await d.outputHas(p.id, '[] clean');
        const line = (await d.output(p.id, `?since=${from}`)).toString();
        assert.match(line, /^echo "\[\$READLINE_LINE\]" clean\r\n(\x1b\[\?2004l\r?)?\[\] clean/);
        await d.remove(p.id, '?grace_ms=200');
    });
});
