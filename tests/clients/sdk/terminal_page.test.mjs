// SPDX-License-Identifier: Apache-2.0
//
// The blocks that a page about terminals shows its readers, as they would write them: what people know from
// other sandboxes works here under the same names.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { readUntil, sandboxOf, WaitTimeoutError, NotFoundError } from '../../lib/sdk.mjs';

withDaemon('a terminal by the SDK', {}, (d) => {
    let sandbox;
    it('connects', async () => {
        sandbox = sandboxOf(d);
        assert.equal((await sandbox.info()).name, 'holdfast');
        assert.equal(sandbox.pty, sandbox.terminal);
    });

    it('create', async () => {
        const terminal = await sandbox.terminal.create({
            command: 'bash',
            args: ['--norc'],
            cwd: '/tmp',
            env: { GREETING: 'hello' },
            rows: 30,
            cols: 100,
            timeoutMs: 60_000,
        });
        assert.match(terminal.id, /^proc_/);
        assert.equal(terminal.current.running, true);
        assert.equal(terminal.current.rows, 30);
        assert.equal(terminal.current.cols, 100);
        assert.equal(terminal.current.cwd, '/tmp');
        await terminal.kill();
    });

    it('attach, iterate events, write, close', async () => {
        const terminal = await sandbox.terminal.create({ command: 'bash', args: ['--norc'], rows: 24, cols: 80 });
        const connection = await terminal.attach();
        await connection.write('echo answer=$((6 * 7)); exit 3\n');

        let text = '';
        let exitCode;
        for await (const event of connection.events()) {
            if (event.type === 'output') {
                assert.ok(event.data instanceof Uint8Array);
                assert.equal(typeof event.offset, 'number');
                text += Buffer.from(event.data).toString();
            } else if (event.type === 'exit') {
                assert.equal(event.status.running, false);
                exitCode = event.status.exitCode;
                break;
            }
        }
        await connection.close();
        assert.match(text, /answer=42/);
        assert.equal(exitCode, 3);
    });

    it('resize', async () => {
        const terminal = await sandbox.terminal.create({ command: 'bash', args: ['--norc'], rows: 24, cols: 80 });
        const connection = await terminal.attach();
        await connection.resize(32, 110);
        await connection.write('stty size\n');
        await readUntil(connection, '32 110');
        assert.deepEqual(
            await terminal.refresh().then((s) => [s.rows, s.cols]),
            [32, 110],
        );
        await terminal.resize(20, 60);
        await connection.write('stty size\n');
        await readUntil(connection, '20 60');
        await connection.close();
        assert.equal((await terminal.refresh()).running, true, 'a closed connection ends nothing');
        await terminal.kill();
    });

    it('get with output', async () => {
        const terminal = await sandbox.terminal.create({ command: 'sh', args: ['-c', 'echo one; echo two; sleep 60'] });
        await terminal.waitFor({ text: 'two' });
        const plain = await sandbox.terminal.get(terminal.id);
        assert.equal(plain.current.output, undefined);
        const again = await sandbox.terminal.get(terminal.id, true);
        assert.equal(again.current.output.map((c) => c.data).join(''), 'one\r\ntwo\r\n');
        assert.equal(again.current.text, 'one\r\ntwo\r\n');
        assert.deepEqual(
            (await sandbox.terminal.list()).map((t) => t.id).filter((id) => id === terminal.id),
            [terminal.id],
        );
        assert.equal((await terminal.refresh(true)).output.length > 0, true);
        await terminal.kill();
    });

    it('wait with time-out and output', async () => {
        const slow = await sandbox.terminal.create({ command: 'sleep', args: ['60'] });
        await assert.rejects(slow.wait({ timeoutMs: 50 }), (err) => {
            assert.ok(err instanceof WaitTimeoutError);
            assert.equal(err.code, 'timed_out');
            assert.match(err.message, /timed out/);
            return true;
        });
        await slow.kill();
        const quick = await sandbox.terminal.create({ command: 'sh', args: ['-c', 'echo done; exit 4'] });
        const result = await quick.wait({ timeoutMs: 20_000, includeOutput: true });
        assert.equal(result.running, false);
        assert.equal(result.exitCode, 4);
        assert.equal(result.output.map((c) => c.data).join(''), 'done\r\n');
        assert.equal(quick.current.exitCode, 4);
    });

    it('signal TERM', async () => {
        const terminal = await sandbox.terminal.create({ command: 'sleep', args: ['60'] });
        await terminal.signal('TERM');
        const result = await terminal.wait({ timeoutMs: 20_000 });
        assert.equal(result.exitCode, 143);
        assert.equal(result.exit.signal, 'SIGTERM');
    });

    it('kill', async () => {
        const terminal = await sandbox.terminal.create({ command: 'bash', args: ['-i'] });
        const result = await terminal.kill();
        assert.equal(result.running, false);
        assert.equal((await terminal.kill()).running, false, 'a second kill is no error');
        assert.equal((await sandbox.terminal.get(terminal.id)).current.running, false);
        await terminal.remove();
        await assert.rejects(sandbox.terminal.get(terminal.id), (err) => {
            assert.ok(err instanceof NotFoundError);
            assert.equal(err.code, 'no_such_process');
            return true;
        });
    });

    it('attach after the exit replays the output and the exit', async () => {
        const terminal = await sandbox.terminal.create({ command: 'sh', args: ['-c', 'echo bye; exit 5'] });
        await terminal.wait();
        for (const since of [0, 3]) {
            const connection = await terminal.attach(since);
            let text = '';
            let exits = 0;
            for await (const event of connection.events()) {
                if (event.type === 'output') text += Buffer.from(event.data).toString();
                if (event.type === 'exit') exits += event.status.exitCode === 5 ? 1 : 100;
            }
            assert.equal(text, 'bye\r\n'.slice(since));
            assert.equal(exits, 1);
        }
    });
});
