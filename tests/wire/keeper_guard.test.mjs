// SPDX-License-Identifier: Apache-2.0
// The keeper holds the tokens and every process: its children cannot read it, no core file has it, and the kernel kills it last.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { Daemon, binary } from '../lib/daemon.mjs';
import * as proc from '../lib/proc.mjs';
import { after, before, describe, it } from '../lib/test.mjs';
import { waitUntil } from '../lib/wait.mjs';

const skip = process.getuid() !== 0 && 'needs root, to start a daemon of another user';
const USER = 60123; /* nobody; the daemon and its children are */
const CORE = 4096 * 1024;
const SCORE = 500;
const score = (pid) => Number(fs.readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8'));

/** A daemon of an ordinary user, started with a limit of cores and a raised score. */
function ordinary() {
    const d = new Daemon({
        before: ['choom', '-n', String(SCORE), '--', 'prlimit', `--core=${CORE}:${CORE}`, 'setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups'],
        /* The sanitizer would take the limit of cores away by itself. */
        env: { ASAN_OPTIONS: 'detect_leaks=1:exitcode=99:disable_coredump=0' },
    }).prepare();
    /* An upgrade executes a path, which this user must be able to reach: the project may be in /root. */
    d.options.bin = path.join(d.dir, 'holdfast');
    fs.copyFileSync(binary(), d.options.bin);
    for (const f of [d.dir, d.tokenFile]) fs.chownSync(f, USER, USER);
    return d;
}

async function says(d, line) {
    const p = await d.sh(line);
    await d.exitOf(p.id);
    const text = (await d.output(p.id)).toString();
    await d.remove(p.id);
    return text;
}

describe('the keeper of an ordinary user', { skip }, () => {
    let d;
    before(async () => {
        d = await ordinary().start();
    });
    after(() => d.stop());

    it('is not readable or writable for a child of the same user', async () => {
        const keeper = d.keeperPid();
        assert.equal(proc.statusField(keeper, 'Uid').split(/\s+/)[0], String(USER));
        const text = await says(d, `id -u; for f in mem environ maps; do (: < /proc/${keeper}/$f) 2>/dev/null && echo read $f; done; (: >> /proc/${keeper}/mem) 2>/dev/null && echo write mem; echo end`);
        assert.equal(text, `${USER}\nend\n`);
    });

    /** What a child can open of those that hold tokens, the vault's socket or every descriptor. */
    const reachable = (pids) =>
        says(d, pids.map((pid) => `ls /proc/${pid}/fd 2>/dev/null; for f in mem environ maps; do (: < /proc/${pid}/$f) 2>/dev/null && echo read $f of ${pid}; done; `).join('') + 'echo end');

    it('vault and launcher are out of reach, too', async () => {
        assert.equal(await reachable([d.pid, d.vaultPid(), d.keeperPid()]), 'end\n');
    });

    it('leaves no core, and children get their limit back', async () => {
        for (const pid of [d.keeperPid(), d.workerPid()])
            assert.match(fs.readFileSync(`/proc/${pid}/limits`, 'utf8'), new RegExp(`Max core file size +1 +${CORE}`));
        assert.equal(await says(d, 'ulimit -c'), `${CORE / 512}\n`);
    });

    it('is spared when memory runs out, children and worker are not', async () => {
        const p = await d.sh('sleep 300');
        await waitUntil(() => score(d.keeperPid()) === 0, 'the score of the keeper');
        assert.equal(score(p.pid), SCORE);
        assert.equal(score(d.workerPid()), SCORE);
        await d.remove(p.id);
    });

    it('a child whose score is asked for has it', async () => {
        const p = await d.sh('sleep 300', { limits: { oom_score_adj: 700 } });
        assert.equal(score(p.pid), 700);
        await waitUntil(() => score(d.keeperPid()) === 0, 'the score of the keeper');
        await d.remove(p.id);
    });

    it('all of it holds after an upgrade', async () => {
        const old = d.workerPid();
        process.kill(d.keeperPid(), 'SIGHUP');
        await d.nextWorker(old);
        d.agent.destroy();
        await waitUntil(() => score(d.keeperPid()) === 0, 'the score of the keeper');
        assert.equal(await says(d, 'ulimit -c; cat /proc/self/oom_score_adj'), `${CORE / 512}\n${SCORE}\n`);
        assert.equal(await reachable([d.pid, d.vaultPid(), d.keeperPid()]), 'end\n');
    });

    it('all of it holds after another serve has picked it up', async () => {
        const first = d.pid;
        process.kill(first, 'SIGKILL');
        await d.left();
        await d.again();
        d.baseline = undefined; // the vault holds the new launcher's outputs and directory, too
        assert.notEqual(d.pid, first);
        assert.equal(await reachable([d.pid, d.vaultPid(), d.keeperPid()]), 'end\n');
        assert.equal(await says(d, 'ulimit -c; cat /proc/self/oom_score_adj'), `${CORE / 512}\n${SCORE}\n`);
    });
});
