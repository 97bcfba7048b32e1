// SPDX-License-Identifier: Apache-2.0
// Terminals of the published E2B SDK.

import assert from 'node:assert/strict';
import { InvalidArgumentError, SandboxError } from 'e2b';
import { withDaemon } from '../../lib/daemon.mjs';
import { create, direct, throwsA } from '../../lib/e2b.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('e2b: terminals', { fdBaseline: false }, (d) => {
    let made;
    const sandbox = () => (made ??= create(d));
    const bytes = (text) => new TextEncoder().encode(text);

    /** A terminal whose output is collected. */
    const open = async (s, more = {}) => {
        const t = { text: '' };
        t.onData = (b) => (t.text += Buffer.from(b).toString('latin1'));
        t.handle = await s.pty.create({ cols: 80, rows: 24, timeoutMs: 0, onData: t.onData, ...more });
        t.sees = (what) => waitUntil(() => t.text.includes(what), `${JSON.stringify(what)} in ${JSON.stringify(t.text)}`);
        t.type = (text) => s.pty.sendInput(t.handle.pid, bytes(text));
        return t;
    };

    it('a prompt, its size, a resize, the type of the terminal, and the exit', async () => {
        const s = await sandbox();
        const t = await open(s);
        await waitUntil(() => /[$#] $/.test(t.text), 'a prompt before anything is typed');
        await t.type('echo "size: $(tput cols)"; echo "term: $TERM"\r');
        await t.sees('size: 80');
        await t.sees('term: xterm-256color');
        await s.pty.resize(t.handle.pid, { cols: 100, rows: 30 });
        await t.type('echo "size: $(tput cols)x$(tput lines)"\r');
        await t.sees('size: 100x30');
        await t.type('exit\r');
        assert.equal((await t.handle.wait()).exitCode, 0);
    });

    it('a terminal that was left goes on, and is the same when one comes back', async () => {
        const s = await sandbox();
        const t = await open(s);
        await t.type('X=before\r');
        await t.sees('X=before');
        await t.handle.disconnect();
        let seen = '';
        const again = await s.pty.connect(t.handle.pid, { onData: (b) => (seen += Buffer.from(b).toString()) });
        await s.pty.sendInput(again.pid, bytes('echo "X is $X"; exit 3\r'));
        await assert.rejects(again.wait(), (err) => err.exitCode === 3);
        assert.match(seen, /X is before/);
    });

    it('kill ends it; what is not a terminal cannot be sized or typed to as one', async () => {
        const s = await sandbox();
        const t = await open(s);
        assert.equal(await s.pty.kill(t.handle.pid), true);
        await assert.rejects(t.handle.wait(), (err) => err.exitCode === -1 && err.error === 'signal: killed');
        const c = await s.commands.run('cat', { background: true, stdin: true });
        await throwsA(s.pty.resize(c.pid, { cols: 9, rows: 9 }), SandboxError, /tty not assigned to process/);
        await throwsA(s.pty.sendInput(c.pid, bytes('x')), SandboxError, /send the input as stdin/);
        const other = await open(s);
        await throwsA(s.commands.sendStdin(other.handle.pid, 'x'), SandboxError, /send the input as pty/);
        await throwsA(s.pty.resize(other.handle.pid, { cols: 5000, rows: 1 }), InvalidArgumentError, /1 to 4096/);
        await c.kill();
        await s.pty.kill(other.handle.pid);
    });

    it('a terminal of ours is typed to and sized here, and the other way round', async () => {
        const s = await sandbox();
        const p = await d.spawn({ command: 'sh', pty: { rows: 24, cols: 80 } });
        let seen = '';
        const h = await s.pty.connect(p.pid, { onData: (b) => (seen += Buffer.from(b).toString()) });
        await s.pty.resize(p.pid, { cols: 90, rows: 33 });
        await s.pty.sendInput(p.pid, bytes('stty size; exit 2\r'));
        await assert.rejects(h.wait(), (err) => err.exitCode === 2);
        assert.match(seen, /33 90/);
        const t = await open(s);
        const native = (await d.list('?status=running')).find((x) => x.pid === t.handle.pid);
        assert.equal(native.pty, true);
        await d.api('POST', `/v1/processes/${native.id}/input`, { body: 'exit 6\r', expect: 200, headers: { 'Content-Type': 'application/octet-stream' } });
        await assert.rejects(t.handle.wait(), (err) => err.exitCode === 6);
    });

    it('two who type at once: every byte of each arrives, and no call is torn apart', async () => {
        const s = await sandbox();
        const c = await s.commands.run('sleep 0.5; cat', { background: true, stdin: true });
        const a = 'a'.repeat(300000);
        const b = 'b'.repeat(300000);
        await Promise.all([c.sendStdin(a), direct(d).commands.sendStdin(c.pid, b)]);
        await c.closeStdin();
        const { stdout } = await c.wait();
        assert.ok(stdout === a + b || stdout === b + a, `${stdout.length} bytes, torn at ${stdout.search(/ab|ba/)}`);
    });
});
