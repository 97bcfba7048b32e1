// SPDX-License-Identifier: Apache-2.0
//
// programs.mjs - real programs, driven for a while, and all they wrote
//
// Each is run in a terminal of the daemon; keys are typed and the size changes while it runs. What
// comes back is the output with the changes of size where they happened, as the
// daemon recorded them. No two runs are the same to the byte, and need not be.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const has = (command) => {
    try {
        execFileSync('sh', ['-c', `command -v ${command}`]);
        return true;
    } catch {
        return false;
    }
};

const RESIZE = (rows, cols) => ({ rows, cols });
const text = Array.from({ length: 300 }, (_, i) => `line ${i} ${'word '.repeat(i % 31)}漢字 ${i % 7 ? '' : 'x'.repeat(150)}`).join('\n');

/** name, command line, and what is done: strings are typed, sizes are set. */
export const PROGRAMS = [
    {
        name: 'bash',
        command: 'bash --norc -i',
        steps: [
            `PS1='\\[\\e[1;32m\\]\\u\\[\\e[0m\\]:\\[\\e[44m\\]\\w\\[\\e[0m\\]\\$ '\r`,
            `for i in 1 2 3 4 5 6 7 8; do printf '\\e[3%dm%d \\e[48;5;%dmcolour\\e[0m 漢字かな 한글 ｱ\\n' $i $i $((i*20)); done\r`,
            RESIZE(20, 60),
            `seq 1 60 | sed 's/$/ a line that is long enough to be wrapped when the window is narrow/'\r`,
            RESIZE(30, 100),
            `printf '\\e[38;2;10;200;30mtruecolour\\e[0m \\e[4:3mcurly\\e[0m \\e]8;;http://a.example\\e\\\\link\\e]8;;\\e\\\\\\n'\r`,
            'history\r',
        ],
    },
    {
        name: 'vim',
        command: 'vim -u NONE -N -c "set number hlsearch ruler" FILE',
        steps: ['\x06', 'jjjj', '/word\r', RESIZE(18, 70), ':vsplit\r', 'inew text 漢字\x1b', '\x06', RESIZE(28, 95), ':set wrap!\r', 'G', 'dd', 'u', ':q!\r'],
    },
    {
        name: 'less',
        command: 'less -R FILE',
        steps: [' ', ' ', 'k', 'k', '/line 1\r', 'n', RESIZE(15, 50), ' ', 'b', RESIZE(30, 110), 'G', 'g', '-S\r'],
    },
    { name: 'top', command: 'top -d 1', steps: ['c', '1', 'm', RESIZE(20, 70), 't', RESIZE(32, 120), 'z', 'h', 'q'] },
    { name: 'htop', command: 'htop', steps: ['t', '\x1bOB', '\x1bOB', RESIZE(18, 75), '\x1bOQ', '\x1b', RESIZE(30, 100), '/', 'a', '\x1b'] },
    {
        name: 'tmux',
        command: 'tmux -L hf-test -f /dev/null new-session bash --norc',
        steps: ['ls -la --color=always /\r', '\x02"', 'seq 100\r', '\x02%', RESIZE(20, 70), '\x02o', 'echo 漢字\r', RESIZE(32, 110), '\x02c', '\x02p', 'exit\r'],
    },
    {
        name: 'dialog',
        command: 'dialog --menu "Pick one 漢字" 15 50 6 a Alpha b Beta c Gamma d Delta e Epsilon',
        steps: ['\x1bOB', '\x1bOB', RESIZE(18, 60), '\t', RESIZE(28, 90), '\t', '\x1bOA', 'd'],
    },
    {
        name: 'nano',
        command: 'nano -I FILE',
        steps: ['\x16', 'typed text 漢字', '\x0b', '\x15', RESIZE(16, 60), '\x17line 20\r', RESIZE(30, 100), '\x07', '\x18', '\x18', 'n'],
    },
    {
        name: 'mc',
        command: 'mc -u -x /usr /etc',
        steps: ['\x1bOB', '\x1bOB', '\t', RESIZE(20, 70), '\x1bOQ', '\x1b\x1b', RESIZE(30, 100), 'ls -l\r', '\x0f', '\x0f'],
    },
].filter((p) => has(p.command.split(' ')[0]));

const type = (d, id, data) => d.api('POST', `/v1/processes/${id}/input`, { json: { data } });

/** Until it has been silent for a moment, or for so long at most: top never is. */
const settle = (d, id) => d.api('POST', `/v1/processes/${id}/wait`, { json: { until: [{ quiet_ms: 120 }, { exit: true }], timeout_ms: 1500 } });

/** {rows, cols, session, bytes}: session is [{bytes} | {rows, cols}]. */
export async function record(d, program) {
    const file = path.join(d.dir, 'text.txt');
    fs.writeFileSync(file, text);
    const p = await d.spawn({
        command: program.command.replace('FILE', file),
        shell: true,
        pty: { rows: 24, cols: 80 },
        env: { HOME: d.dir, TMUX_TMPDIR: d.dir },
        cwd: d.dir,
        history_bytes: 8 << 20,
    });
    await settle(d, p.id);
    for (const step of program.steps) {
        if (typeof step === 'string') await type(d, p.id, step);
        else await d.api('POST', `/v1/processes/${p.id}/resize`, { json: step });
        await settle(d, p.id);
    }
    const cast = (await d.api('GET', `/v1/processes/${p.id}/recording`, { expect: 200 })).body.toString();
    const bytes = await d.output(p.id);
    await d.remove(p.id, '?grace_ms=500');
    return { ...parse(cast), bytes };
}

function parse(cast) {
    const [head, ...lines] = cast.split('\n').filter(Boolean).map((l) => JSON.parse(l));
    const session = [];
    for (const [, kind, data] of lines) {
        if (kind === 'o') {
            const bytes = Buffer.from(data);
            if (session.at(-1)?.bytes) session.at(-1).bytes = Buffer.concat([session.at(-1).bytes, bytes]);
            else session.push({ bytes });
        } else if (kind === 'r') {
            const [cols, rows] = data.split('x').map(Number);
            session.push({ rows, cols });
        }
    }
    return { rows: head.height, cols: head.width, session };
}
