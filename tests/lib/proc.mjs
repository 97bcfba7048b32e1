// SPDX-License-Identifier: Apache-2.0
//
// proc.mjs - what /proc says: the independent witness of what the daemon claims

import fs from 'node:fs';

const text = (file) => {
    try {
        return fs.readFileSync(file, 'latin1');
    } catch {
        return null;
    }
};

/** {pid, name, state, ppid, pgrp, session, tty, start} or null when there is no such process. */
export function stat(pid) {
    const s = text(`/proc/${pid}/stat`);
    if (!s) return null;
    const end = s.lastIndexOf(')');
    const f = s.slice(end + 2).split(' ');
    return {
        pid: Number(pid),
        name: s.slice(s.indexOf('(') + 1, end),
        state: f[0],
        ppid: Number(f[1]),
        pgrp: Number(f[2]),
        session: Number(f[3]),
        tty: Number(f[4]),
        start: f[19],
    };
}

export const pids = () =>
    fs
        .readdirSync('/proc')
        .filter((n) => /^\d+$/.test(n))
        .map(Number);

/** Alive in the sense that matters: it exists and is not a zombie. */
export function isAlive(pid) {
    const s = stat(pid);
    return s !== null && s.state !== 'Z' && s.state !== 'X';
}

export const exists = (pid) => stat(pid) !== null;

/** No process of the session that this process began is alive. A killed process may take a while to die on a busy machine. */
export const sessionIsGone = (pid) => !pids().some((p) => stat(p)?.session === pid && isAlive(p));

/**
 * The kernel's own list, which costs one read instead of one per process of the machine. It may miss
 * a child while others come and go: for tests that wait for a child to appear.
 */
export function childrenNow(pid) {
    const list = text(`/proc/${pid}/task/${pid}/children`);
    if (list === null) return childrenOf(pid);
    return list.split(' ').filter(Boolean).map(stat).filter(Boolean);
}

export function childrenOf(pid) {
    return pids()
        .map(stat)
        .filter((s) => s && s.ppid === pid);
}

export function descendantsOf(pid) {
    const all = pids().map(stat).filter(Boolean);
    const out = [];
    const walk = (p) => {
        for (const s of all) {
            if (s.ppid === p) {
                out.push(s);
                walk(s.pid);
            }
        }
    };
    walk(pid);
    return out;
}

export function exe(pid) {
    try {
        return fs.readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, '');
    } catch {
        return null;
    }
}

export function environ(pid) {
    const s = text(`/proc/${pid}/environ`);
    return s === null ? null : s.split('\0').filter(Boolean);
}

export const cmdline = (pid) => (text(`/proc/${pid}/cmdline`) ?? '').split('\0').slice(0, -1);

/** The helper processes that write this file. */
export const fileWriters = (path) =>
    pids().filter((pid) => {
        const words = cmdline(pid);
        return words[1] === 'file-op' && words[2] === 'write' && words[3] === path;
    });

/** {fd: target} of a process, or null. */
export function fds(pid) {
    const out = {};
    try {
        for (const n of fs.readdirSync(`/proc/${pid}/fd`)) {
            try {
                out[n] = fs.readlinkSync(`/proc/${pid}/fd/${n}`);
            } catch {
                continue;
            }
        }
    } catch {
        return null;
    }
    return out;
}

/** Its descriptors that listen at this port of IPv4. */
export function listening(pid, port) {
    const at = `:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 0A`;
    const lines = (text('/proc/net/tcp') ?? '').split('\n').filter((line) => line.includes(at));
    const sockets = lines.map((line) => `socket:[${line.trim().split(/\s+/)[9]}]`);
    return Object.values(fds(pid) ?? {}).filter((to) => sockets.includes(to));
}

export const fdCount = (pid) => Object.keys(fds(pid) ?? {}).length;

/** A number of /proc/PID/status, in its own unit (kB for Vm*). */
export function statusField(pid, key) {
    const line = (text(`/proc/${pid}/status`) ?? '').split('\n').find((l) => l.startsWith(`${key}:`));
    return line ? line.slice(key.length + 1).trim() : null;
}

/** Pss in bytes: memory with shared pages counted in parts. */
export function pssBytes(pid) {
    const m = /^Pss:\s+(\d+) kB/m.exec(text(`/proc/${pid}/smaps_rollup`) ?? '');
    return m ? Number(m[1]) * 1024 : null;
}

/** Anonymous memory in bytes: what the process itself holds, journals (shared memory) not counted. */
export const anonBytes = (pid) => 1024 * parseInt(statusField(pid, 'RssAnon') ?? '0', 10);

/** Processes whose environment holds NAME=VALUE, zombies left out. */
export function withEnv(assignment) {
    return pids().filter((p) => isAlive(p) && (environ(p) ?? []).includes(assignment));
}
