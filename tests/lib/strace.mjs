// SPDX-License-Identifier: Apache-2.0
// The system calls of running processes, by strace.

import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import { waitUntil } from './wait.mjs';

export const canStrace = () => {
    try {
        execFileSync('strace', ['-o', '/dev/null', 'true'], { stdio: 'ignore' });
        return true;
    } catch {
        return false;
    }
};

/** Attaches to `pids`; `lines()` of what is returned ends it and gives what they called. */
export async function strace(pids, file, options = []) {
    const s = spawn('strace', ['-f', '-ttt', ...options, '-o', file, ...pids.flatMap((p) => ['-p', String(p)])], {
        stdio: 'ignore',
    });
    const ended = new Promise((done) => s.once('exit', done));
    await waitUntil(
        () => pids.every((p) => fs.readFileSync(`/proc/${p}/status`, 'utf8').includes(`TracerPid:\t${s.pid}`)),
        'strace to attach',
    );
    return {
        async lines() {
            s.kill('SIGINT');
            await ended;
            return fs.readFileSync(file, 'utf8').split('\n');
        },
    };
}
