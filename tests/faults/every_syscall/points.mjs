// SPDX-License-Identifier: Apache-2.0
//
// points.mjs - where and how a process is struck
//
// A point is ROLE/CALL:K:ACTION, for example worker/read.tty:3:kill-before; an allocation is ROLE/alloc:K:refuse. K counts from 1 over
// all processes that have the role one after the other in a run. FIRST+SECOND are two blows: the second is counted from the first on.

/** What a call may fail with: of the errors of the matrix those that the kernel has for it. `made`: the call is made all the same, as close(2) is. */
const READS = ['EINTR', 'EAGAIN', 'EIO', 'short'];
// EIO is how a terminal reports its hang-up, and a pipe has no EIO: neither is an error that passes.
const WRITES = ['EINTR', 'EAGAIN', 'ENOSPC', 'EIO', 'short'];
const SOCKET = ['EINTR', 'EAGAIN', 'ENOMEM', 'short'];
const NEW_FD = ['EMFILE', 'ENOMEM'];
const NEW_PROCESS = ['EAGAIN', 'ENOMEM'];
const FILE = ['ENOMEM', 'EIO'];
const FAILURES = {
    'read.pipe': ['EINTR', 'EAGAIN', 'short'],
    'read.tty': ['EINTR', 'EAGAIN', 'short'],
    'write.pipe': ['EINTR', 'EAGAIN', 'short'],
    'write.tty': ['EINTR', 'EAGAIN', 'short'],
    'write.socket': ['EINTR', 'EAGAIN', 'short'], // standard output: what it refuses, nobody can print elsewhere
    read: READS,
    readv: READS,
    pread64: ['EINTR', 'EIO', 'short'],
    write: WRITES,
    writev: WRITES,
    pwrite64: ['ENOSPC', 'EIO', 'short'],
    recvfrom: SOCKET,
    recvmsg: SOCKET,
    sendto: SOCKET,
    sendmsg: SOCKET,
    splice: SOCKET,
    epoll_wait: ['EINTR'],
    poll: ['EINTR', 'ENOMEM'],
    ppoll: ['EINTR', 'ENOMEM'],
    epoll_ctl: ['ENOMEM', 'ENOSPC'],
    accept4: ['EINTR', 'EAGAIN', 'EMFILE', 'ENOMEM'],
    openat: ['EINTR', 'EMFILE', 'ENOMEM', 'ENOSPC', 'EIO'],
    mmap: ['ENOMEM', 'EAGAIN'],
    munmap: ['ENOMEM'],
    mprotect: ['ENOMEM'],
    madvise: ['ENOMEM'],
    mremap: ['ENOMEM'],
    ftruncate: ['EINTR', 'ENOSPC', 'EIO'],
    fallocate: ['EINTR', 'ENOSPC', 'EIO'],
    memfd_create: NEW_FD,
    epoll_create1: NEW_FD,
    signalfd4: NEW_FD,
    timerfd_create: NEW_FD,
    eventfd2: NEW_FD,
    pipe2: NEW_FD,
    socket: NEW_FD,
    socketpair: NEW_FD,
    pidfd_open: NEW_FD,
    dup: NEW_FD,
    dup3: NEW_FD,
    'fcntl.dup': NEW_FD,
    'fcntl.pipe': ['ENOMEM', 'EPERM'], // F_SETPIPE_SZ allocates, and counts against a limit of the user
    // F_GETFD, F_SETFD, F_GETFL and F_SETFL change a flag of a descriptor that is open, F_ADD_SEALS and F_GET_SEALS one of a memory
    // file: the kernel allocates nothing for them and does not wait.
    'fcntl.other': [],
    ioctl: ['EINTR', 'EIO'],
    clone: NEW_PROCESS,
    clone3: NEW_PROCESS,
    fork: NEW_PROCESS,
    execve: FILE,
    execveat: FILE,
    wait4: ['EINTR'],
    waitid: ['EINTR'],
    getrandom: ['EINTR'],
    getdents64: FILE,
    newfstatat: FILE,
    fstat: FILE,
    statx: FILE,
    readlink: FILE,
    readlinkat: FILE,
    faccessat2: FILE,
    getcwd: FILE,
    unlinkat: ['EIO'],
    rmdir: ['EIO'],
    mkdirat: ['ENOSPC', 'EIO'],
    kill: ['EPERM'],
    pidfd_send_signal: ['EPERM'],
    'prctl.name': [], // it is how the roles are known here, and cannot fail
    prctl: ['ENOMEM'],
    prlimit64: ['EPERM'],
    setresuid: ['EAGAIN'],
    setresgid: ['ENOMEM'],
    setgroups: ['ENOMEM'],
    seccomp: ['ENOMEM'],
    landlock_create_ruleset: NEW_FD,
    landlock_add_rule: ['ENOMEM'],
    landlock_restrict_self: ['ENOMEM'],
    setsockopt: ['ENOMEM'],
    getsockopt: ['ENOMEM'],
    getsockname: ['ENOMEM'],
    bind: ['ENOMEM'],
    listen: ['ENOMEM'],
    shutdown: ['ENOMEM'],
};
const MADE = { close: ['EINTR', 'EIO'] };

/** A short message of a kind that keeps its bounds, or a short answer of the kernel about an event, does not exist. */
const NEVER_SHORT = /\.(packet|anon|none)$/;

/** The scan of /proc is one loop, as long as the machine has processes: it is struck at this many of its turns. */
const LOOP = /\.proc$/;
const LOOP_POINTS = 20;

function actionsOf(call, kinds) {
    const bare = call.replace(/\..*/, '');
    const fails = FAILURES[call] ?? FAILURES[bare] ?? [];
    const actions = [];
    if (kinds.includes('kill')) actions.push('kill-before', ...(/^exit/.test(call) ? [] : ['kill-after']));
    if (kinds.includes('fail')) {
        for (const e of fails) if (e !== 'short') actions.push(`fail=${e}`);
        for (const e of MADE[bare] ?? []) actions.push(`failed=${e}`);
        if (fails.includes('short') && !NEVER_SHORT.test(call)) actions.push('short');
    }
    return actions;
}

function numbersOf(call, count) {
    const all = Array.from({ length: count }, (_, i) => i + 1);
    if (!LOOP.test(call) || count <= LOOP_POINTS) return all;
    return Array.from({ length: LOOP_POINTS }, (_, i) => all[Math.floor((i * count) / LOOP_POINTS)]);
}

/** All points of a recorded run: `counts` is {role: {call: count}}. */
export function pointsOf(counts, { roles, kinds }) {
    const points = [];
    for (const role of roles) {
        for (const [call, count] of Object.entries(counts[role] ?? {}).sort()) {
            const actions = call === 'alloc' ? (kinds.includes('alloc') ? ['refuse'] : []) : actionsOf(call, kinds);
            for (const k of numbersOf(call, count)) for (const action of actions) points.push({ role, call, k, action });
        }
    }
    return points;
}

export const nameOf = (p) => `${p.after ? `${p.after}+` : ''}${p.role}/${p.call}:${p.k}:${p.action}`;

export function parsePoint(whole) {
    const [text, after] = whole.split('+').reverse();
    const m = /^(\w+)\/([\w.]+):(\d+):([\w=-]+)$/.exec(text);
    if (!m) throw new Error(`not a point: ${text} (ROLE/CALL:K:ACTION)`);
    return { after, role: m[1], call: m[2], k: Number(m[3]), action: m[4] };
}

/** Blows that leave bytes which were moved and not counted; the next worker is killed while it finds that out. */
export const FIRST_BLOWS = [
    'worker/read.pipe:5:kill-after',
    'worker/read.tty:2:kill-after',
    'worker/write.tty:2:kill-after',
    'worker/splice:2:kill-after',
];

/** A kill at each call of the next worker's start; `log` is what it and its followers called. */
export function pointsOfStart(after, log) {
    const counts = {};
    const points = [];
    for (const line of log) {
        const [role, call] = line.split(' ');
        if (role !== 'worker') continue;
        if (call === 'epoll_wait') break;
        counts[call] = (counts[call] ?? 0) + 1;
        points.push({ after, role, call, k: counts[call], action: 'kill-before' });
    }
    return points;
}
