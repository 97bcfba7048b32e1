// SPDX-License-Identifier: Apache-2.0
//
// probe.mjs - a health probe in a process of its own, which no flood of the test delays
//
// It asks the daemon under attack and an idle one (the control) at the same moment, each on a new connection, again
// and again. What both are late for is the machine's doing (the probe itself had no processor), and so is the time in which
// the attacked worker wanted to run and had none (the kernel counts it in schedstat). The rest of a delay is the daemon's. It also reads the
// attacked worker's memory. Started with fork(); {start: {port, control, pid}} and {stop: true} are its messages.

import fs from 'node:fs';
import net from 'node:net';

const REQUEST = (port) => `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`;
const GIVE_UP_MS = 5000;
const EVERY_MS = 10;

/** Milliseconds until the 200 was there; why not, if it was not. */
function ask(port) {
    const began = performance.now();
    return new Promise((done) => {
        const socket = net.connect({ host: '127.0.0.1', port });
        const end = (failure) => {
            clearTimeout(late);
            socket.destroy();
            done({ ms: performance.now() - began, failure });
        };
        const late = setTimeout(() => end(`no answer in ${GIVE_UP_MS} ms`), GIVE_UP_MS);
        let text = '';
        socket.on('connect', () => socket.write(REQUEST(port)));
        socket.on('data', (d) => {
            text += d.toString('latin1');
            if (text.includes('\r\n\r\n')) end(text.startsWith('HTTP/1.1 200') ? null : text.slice(0, 80));
        });
        socket.on('error', (err) => end(err.code));
        socket.on('close', () => end('closed without an answer'));
    });
}

function anonBytes(pid) {
    try {
        return 1024 * Number(/^RssAnon:\s+(\d+) kB/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'latin1'))[1]);
    } catch {
        return 0;
    }
}

/** Milliseconds that the process has waited for a processor in its life. */
function waitedMs(pid) {
    try {
        return Number(fs.readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')[1]) / 1e6;
    } catch {
        return 0;
    }
}

let run = null;

async function probe(r) {
    while (!r.over) {
        const before = waitedMs(r.pid);
        const [daemon, control] = await Promise.all([ask(r.port), ask(r.control)]);
        r.samples.push([daemon.ms, control.ms, waitedMs(r.pid) - before]);
        if (daemon.failure) r.failures.push(daemon.failure);
        r.peak = Math.max(r.peak, anonBytes(r.pid));
        await new Promise((done) => setTimeout(done, EVERY_MS));
    }
}

function reportOf(r) {
    const daemon = r.samples.map((s) => s[0]).sort((a, b) => a - b);
    const excess = r.samples.map(([ms, control, waited]) => ms - control - waited).sort((a, b) => a - b);
    return {
        samples: daemon.length,
        p50: daemon[daemon.length >> 1],
        max: daemon.at(-1),
        controlMax: Math.max(...r.samples.map((s) => s[1])),
        excess: excess.at(-1),
        failures: r.failures,
        peak: r.peak,
    };
}

process.on('message', async (m) => {
    if (m.start) {
        run = { ...m.start, samples: [], failures: [], peak: 0, over: false };
        run.done = probe(run);
        process.send({ started: true });
    }
    if (m.stop) {
        run.over = true;
        await run.done;
        process.send({ report: reportOf(run) });
    }
});
process.on('disconnect', () => process.exit(0));
