// SPDX-License-Identifier: Apache-2.0
//
// attacks.mjs - what an attacker does, each for some seconds: without a token, or with one of the role watch
//
// An attack is a function of a daemon. It opens what it likes, goes on when it is cut off (as an attacker would), and
// closes everything at its end. tests/attack holds the daemon to its ceilings meanwhile.

import net from 'node:net';
import zlib from 'node:zlib';
import { h2connect, PREFACE, TYPE, block, frame as h2frame, requestFields } from './http2.mjs';
import { limit } from './limits.mjs';
import { FULL } from './scale.mjs';
import { waitUntil } from './wait.mjs';
import { OP, WsRaw, frame as wsframe } from './wsraw.mjs';

const LASTS_MS = FULL ? 15000 : 1500;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const nobody = (d) => ({ port: d.port, host: d.host, authHeaders: () => ({}) });

/** Until the socket takes more, is closed, or time is up. */
function drained(socket, until) {
    return new Promise((done) => {
        const end = () => {
            clearTimeout(timer);
            socket.off('drain', end).off('close', end);
            done();
        };
        const timer = setTimeout(end, Math.max(1, until - Date.now()));
        socket.on('drain', end).on('close', end);
    });
}

/** Connections of an attacker; all are closed at the end. */
class Crowd {
    constructor(d, { lastsMs }) {
        this.d = d;
        this.sockets = new Set();
        this.until = Date.now() + lastsMs;
        this.cut = 0;
    }

    get isOver() {
        return Date.now() >= this.until;
    }

    /** A connection, or null if it was not to be had. Its bytes are dropped; `reads: false` never takes one. */
    connect({ reads = true, onData } = {}) {
        return new Promise((done) => {
            const socket = net.connect({ host: '127.0.0.1', port: this.d.port, highWaterMark: 4096 });
            this.sockets.add(socket);
            socket.on('error', () => {});
            socket.on('close', () => {
                this.sockets.delete(socket);
                this.cut++;
                done(null);
            });
            socket.on('connect', () => {
                if (reads) socket.on('data', onData ?? (() => {}));
                else socket.pause();
                done(socket);
            });
        });
    }

    /** `count` of them at once, each having said `hello`. */
    async gather(count, hello, options) {
        const out = [];
        for (let i = 0; i < count && !this.isOver; i += 256) {
            const some = await Promise.all(Array.from({ length: Math.min(256, count - i) }, () => this.connect(options)));
            for (const s of some.filter(Boolean)) {
                if (hello) s.write(hello);
                out.push(s);
            }
        }
        return out;
    }

    /** Writes the block again and again, as fast as it is taken, until time is up or the connection is. */
    async pour(socket, piece) {
        while (!this.isOver && !socket.destroyed) {
            if (socket.write(typeof piece === 'function' ? piece() : piece)) await pause(0);
            else await drained(socket, this.until);
        }
    }

    /** `lanes` connections at a time, each poured into and opened again when it is cut. */
    async flood(lanes, hello, piece, options) {
        if (hello && /^(GET|POST) /.test(hello.toString('latin1', 0, 5))) await this.expect(hello, 'HTTP/1.1 101');
        const lane = async () => {
            while (!this.isOver) {
                const s = await this.connect(options);
                if (!s) {
                    await pause(10);
                    continue;
                }
                if (hello) s.write(hello);
                await this.pour(s, typeof piece === 'function' ? piece(s) : piece);
                s.destroy();
            }
        };
        await Promise.all(Array.from({ length: lanes }, lane));
    }

    /** Fails unless the first of these bytes are what a peer is told: an attack that is refused at once attacks nothing. */
    async expect(request, start) {
        let text = '';
        const s = await this.connect({ onData: (b) => (text += b.toString('latin1')) });
        s?.write(request);
        await waitUntil(() => text.length >= start.length || s === null || s.destroyed, `"${start}"`, 10000).catch(() => {});
        s?.destroy();
        if (!text.startsWith(start)) throw new Error(`expected ${start}, got ${JSON.stringify(text.slice(0, 300))}`);
    }

    /** Lets the rest of the time pass; what was asked for is held by the daemon meanwhile. */
    async hold(each = () => {}) {
        while (!this.isOver) {
            each();
            await pause(50);
        }
    }

    close() {
        for (const s of this.sockets) s.destroy();
    }
}

/** An attack with its crowd; a siege with a pace has shorter or longer ones. */
const attack = (body, { lastsMs = LASTS_MS } = {}) => async (d, siege) => {
    const crowd = new Crowd(d, { lastsMs: lastsMs * siege.pace });
    try {
        await body(d, crowd, siege);
    } finally {
        crowd.close();
    }
};

const repeated = (piece, bytes = 64 << 10) => Buffer.concat(Array.from({ length: Math.ceil(bytes / piece.length) }, () => piece));
const head = (d, line, more = '') => `${line} HTTP/1.1\r\nHost: 127.0.0.1:${d.port}\r\n${more}`;

// --- HTTP/1.1, without a token ---

/** What an owner and root's own socket get while the door is full. */
async function insidersGetIn(d) {
    const tcp = await d.request('GET', '/v1/processes', { agent: false, timeoutMs: 5000 });
    if (tcp.status !== 200) throw new Error(`the owner got ${tcp.status}`);
    const unix = await d.request('GET', '/v1/processes', { target: { socketPath: d.unixPath }, role: null, agent: false, timeoutMs: 5000 });
    if (unix.status !== 200) throw new Error(`root's socket got ${unix.status}`);
}

export const http1 = {
    'more silent connections than there is room for': attack(
        async (d, crowd) => {
            await crowd.gather(limit('LIMIT_CONNECTIONS') + 64);
            await insidersGetIn(d);
            await crowd.hold();
            await insidersGetIn(d);
        },
        { lastsMs: LASTS_MS + 2000 },
    ),
    'heads that come a byte at a time': attack(async (d, crowd) => {
        const all = await crowd.gather(1000, head(d, 'GET /healthz', 'X-Slow: '));
        await crowd.hold(() => all.forEach((s) => s.write('x')));
    }),
    'long heads that do not end': attack(
        async (d, crowd) => {
            await crowd.gather(3000, head(d, 'GET /healthz', `X-Long: ${'x'.repeat(30 << 10)}`));
            await crowd.hold();
        },
        { lastsMs: LASTS_MS + 2000 },
    ),
    'heads that are too large': attack((d, crowd) => crowd.flood(16, null, Buffer.from(head(d, 'GET /healthz', `X-Long: ${'x'.repeat(40 << 10)}\r\n\r\n`)))),
    'bodies for a public call that stop before their end': attack(async (d, crowd) => {
        const start = Buffer.from(head(d, 'POST /dialects/e2b/init', 'Content-Type: application/json\r\nContent-Length: 1048576\r\n\r\n'));
        const lanes = Array.from({ length: 160 }, async () => {
            const s = await crowd.connect();
            s?.write(start);
            s?.write(Buffer.alloc(1000000, 0x20));
        });
        await Promise.all(lanes);
        await crowd.hold();
    }),
    'bodies for a guarded call that come a byte at a time': attack(async (d, crowd) => {
        const all = await crowd.gather(500, head(d, 'POST /v1/processes', 'Content-Type: application/json\r\nContent-Length: 1048576\r\n\r\n{'));
        await crowd.hold(() => all.forEach((s) => s.write(' ')));
    }),
    'pipelined requests': attack((d, crowd) => crowd.flood(8, null, repeated(Buffer.from(head(d, 'GET /healthz', '\r\n'))))),
    'pipelined requests whose answers are not read': attack((d, crowd) => crowd.flood(64, null, repeated(Buffer.from(head(d, 'GET /v1/info', '\r\n'))), { reads: false })),
    'readers of the page that do not read': attack(async (d, crowd) => {
        await crowd.gather(400, head(d, 'GET /', '\r\n'), { reads: false });
        await crowd.hold();
    }),
};

// --- HTTP/2, without a token ---

const hello2 = (settings = Buffer.alloc(0)) => Buffer.concat([PREFACE, h2frame(TYPE.SETTINGS, 0, 0, settings)]);
const END_STREAM = 1;
const END_HEADERS = 4;

/** Frames of one stream after the other: `of(id)` for 1, 3, 5 … */
function streams(of, count = 64) {
    let id = -1;
    return () => Buffer.concat(Array.from({ length: count }, () => of((id += 2))));
}

async function bodies2(d, crowd, path) {
    const held = Buffer.alloc(1 << 20, 0x20);
    const sessions = [];
    try {
        const lane = async () => {
            const session = await h2connect({ port: d.port }).catch(() => null);
            if (!session) return;
            sessions.push(session);
            for (let i = 0; i < 128 && !crowd.isOver && !session.destroyed; i++) {
                const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/json', 'content-length': String(held.length) });
                stream.on('error', () => {});
                stream.resume();
                stream.write(held.subarray(1)); // a byte is missing, so it is never complete
                await pause(0);
            }
        };
        await Promise.all(Array.from({ length: 12 }, lane));
        await crowd.hold();
    } finally {
        sessions.forEach((s) => s.destroy());
    }
}

const nothingRead = { reads: false };
export const http2 = {
    'requests for the page that are reset at once': attack((d, crowd) => {
        const fields = block(requestFields(nobody(d), '/'));
        const cancel = Buffer.from([0, 0, 0, 8]);
        return crowd.flood(4, hello2(), () => streams((id) => Buffer.concat([h2frame(TYPE.HEADERS, END_STREAM | END_HEADERS, id, fields), h2frame(TYPE.RST, 0, id, cancel)])));
    }),
    'requests for the page with a window of nothing': attack(async (d, crowd) => {
        const fields = block(requestFields(nobody(d), '/'));
        const next = streams((id) => h2frame(TYPE.HEADERS, END_STREAM | END_HEADERS, id, fields), 128);
        await crowd.gather(12, Buffer.concat([hello2(Buffer.from([0, 4, 0, 0, 0, 0])), next()]));
        const more = streams((id) => h2frame(TYPE.HEADERS, END_STREAM | END_HEADERS, id, fields), 128);
        const piece = Buffer.concat([hello2(Buffer.from([0, 4, 0, 0, 0, 0])), more()]);
        await crowd.gather(200, piece);
        await crowd.hold();
    }),
    'bodies of 1 MiB on 1,536 streams of a public call': attack((d, crowd) => bodies2(d, crowd, '/dialects/e2b/init'), { lastsMs: LASTS_MS + 1500 }),
    'bodies of 1 MiB on 1,536 streams of a guarded call': attack((d, crowd) => bodies2(d, crowd, '/v1/processes'), { lastsMs: LASTS_MS + 1500 }),
    'PING without reading the answers': attack((d, crowd) => crowd.flood(4, hello2(), repeated(h2frame(TYPE.PING, 0, 0, Buffer.alloc(8))), nothingRead)),
    SETTINGS: attack((d, crowd) => crowd.flood(4, hello2(), repeated(h2frame(TYPE.SETTINGS, 0, 0, Buffer.from([0, 3, 0, 0, 0, 100]))), nothingRead)),
    PRIORITY: attack((d, crowd) => crowd.flood(4, hello2(), () => streams((id) => h2frame(TYPE.PRIORITY, 0, id, Buffer.from([0, 0, 0, 0, 16])), 2048))),
    CONTINUATION: attack((d, crowd) => {
        const begin = h2frame(TYPE.HEADERS, END_STREAM, 1, block(requestFields(nobody(d), '/')));
        return crowd.flood(4, Buffer.concat([hello2(), begin]), repeated(h2frame(TYPE.CONTINUATION, 0, 1, block([['x-more', 'y'.repeat(200)]]))));
    }),
    'empty CONTINUATION': attack((d, crowd) => {
        const begin = h2frame(TYPE.HEADERS, END_STREAM, 1, block(requestFields(nobody(d), '/')));
        return crowd.flood(4, Buffer.concat([hello2(), begin]), repeated(h2frame(TYPE.CONTINUATION, 0, 1)));
    }),
    'empty DATA': attack((d, crowd) => {
        const begin = h2frame(TYPE.HEADERS, END_HEADERS, 1, block(requestFields(nobody(d), '/dialects/e2b/init', [], 'POST')));
        return crowd.flood(4, Buffer.concat([hello2(), begin]), repeated(h2frame(TYPE.DATA, 0, 1)));
    }),
    'WINDOW_UPDATE': attack((d, crowd) => {
        const begin = h2frame(TYPE.HEADERS, END_STREAM | END_HEADERS, 1, block(requestFields(nobody(d), '/')));
        return crowd.flood(4, Buffer.concat([hello2(Buffer.from([0, 4, 0, 0, 0, 0])), begin]), repeated(h2frame(TYPE.WINDOW, 0, 1, Buffer.from([0, 0, 0, 1]))));
    }),
    'large header fields, indexed again and again': attack((d, crowd) => {
        // One literal that fills the table, then references to it: each frame of 16 KiB stands for 64 MB of headers.
        const value = Buffer.alloc(3900, 0x61);
        const literal = Buffer.concat([Buffer.from([0x40, 1, 0x78, 0x7f, 0xbd, 0x1d]), value]);
        const fields = block(requestFields(nobody(d), '/'));
        let first = true;
        const piece = () => {
            first = true;
            return streams((id) => {
                const body = Buffer.concat([fields, ...(first ? [literal] : []), Buffer.alloc(8000, 0xbe)]);
                first = false;
                return h2frame(TYPE.HEADERS, END_STREAM | END_HEADERS, id, body);
            }, 8);
        };
        return crowd.flood(4, hello2(), piece);
    }),
};

// --- WebSocket, with the role watch ---

const connectTo = (p) => `/v1/processes/${p.id}/connect?since=now`;
const handshake = (d, path, options = {}) => Buffer.from(WsRaw.handshake(d, path, { role: 'watch', ...options }).bytes);
const key = Buffer.alloc(4);
const deflated = (data) => zlib.deflateRawSync(data, { finishFlush: zlib.constants.Z_SYNC_FLUSH }).subarray(0, -4);

/** A process that writes all the time, for as long as the attack lasts. */
async function withNoise(d, body, spec = {}) {
    const noise = await d.spawn({ command: 'sh', args: ['-c', 'while :; do seq 1 2000; sleep 0.02; done'], ...spec });
    try {
        return await body(noise);
    } finally {
        await d.remove(noise.id);
    }
}

export const websocket = {
    'fragments of one byte': attack((d, crowd, siege) => {
        const hello = Buffer.concat([handshake(d, connectTo(siege.witness.process)), wsframe(OP.TEXT, 'a', { fin: false, key })]);
        return crowd.flood(8, hello, repeated(wsframe(OP.CONT, 'a', { fin: false, key })));
    }),
    'pings whose answers are not read': attack((d, crowd, siege) => crowd.flood(8, handshake(d, connectTo(siege.witness.process)), repeated(wsframe(OP.PING, 'x'.repeat(125), { key })), nothingRead)),
    'tiny messages that are refused': attack((d, crowd, siege) => crowd.flood(8, handshake(d, connectTo(siege.witness.process)), repeated(wsframe(OP.TEXT, '{}', { key })), nothingRead)),
    'empty binary frames': attack((d, crowd, siege) => crowd.flood(8, handshake(d, connectTo(siege.witness.process)), repeated(wsframe(OP.BINARY, '', { key })))),
    'compressed messages of 64 MB in 64 KB': attack((d, crowd, siege) => {
        const bomb = wsframe(OP.TEXT, deflated(Buffer.alloc(64 << 20, 0x20)), { rsv: 4, key });
        return crowd.flood(8, handshake(d, connectTo(siege.witness.process), { headers: { 'Sec-WebSocket-Extensions': 'permessage-deflate' } }), bomb);
    }),
    'compressed binary frames': attack((d, crowd, siege) => {
        const bomb = wsframe(OP.BINARY, deflated(Buffer.alloc(16 << 20, 0x20)), { rsv: 4, key });
        return crowd.flood(8, handshake(d, connectTo(siege.witness.process), { headers: { 'Sec-WebSocket-Extensions': 'permessage-deflate' } }), bomb);
    }),
    '500 viewers that do not read': attack(
        (d, crowd) =>
            withNoise(d, async (noise) => {
                const hello = handshake(d, `/v1/processes/${noise.id}/connect?since=0`);
                await crowd.expect(hello, 'HTTP/1.1 101');
                await crowd.gather(500, hello, nothingRead);
                await crowd.hold();
            }),
        { lastsMs: LASTS_MS + 1500 },
    ),
    'a public socket, without a token': attack(async (d, crowd) => {
        const hello = Buffer.concat([
            Buffer.from(WsRaw.handshake(nobody(d), '/dialects/daytona/socket.io/?EIO=4&transport=websocket').bytes),
            wsframe(OP.TEXT, 'x'.repeat(60000), { fin: false, key }),
        ]);
        await crowd.gather(2000, hello);
        await crowd.hold();
    }),
};

// --- SPDY, with the role watch ---

const word = (n) => {
    const b = Buffer.alloc(4);
    b.writeUInt32BE(n >>> 0);
    return b;
};
const control = (type, ...parts) => {
    const body = Buffer.concat(parts);
    return Buffer.concat([word(0x80030000 | type), word(body.length), body]);
};
const POD = '/dialects/kubernetes/api/v1/namespaces/default/pods/sandbox';
const spdyHello = (d, siege) => {
    const container = siege.witness.process.tag;
    const headers = { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': 'v4.channel.k8s.io', ...d.authHeaders('watch') };
    const lines = Object.entries(headers).map(([k, v]) => `${k}: ${v}\r\n`).join('');
    return Buffer.from(head(d, `POST ${POD}/attach?container=${container}&stdout=true&stderr=true`, `${lines}Content-Length: 0\r\n\r\n`));
};
const packed = (bytes) => zlib.deflateSync(bytes, { finishFlush: zlib.constants.Z_SYNC_FLUSH });
const headerBlock = (entries) => Buffer.concat([word(entries.length), ...entries.flatMap(([k, v]) => [word(k.length), Buffer.from(k), word(v.length), Buffer.from(v)])]);

export const spdy = {
    'streams without end': attack((d, crowd, siege) => {
        // One stream of zlib over the whole connection: the first block opens it, the rest are stored empty blocks.
        const first = packed(headerBlock([['streamtype', 'error']]));
        const stored = zlib.deflateRawSync(headerBlock([['streamtype', 'none']]), { level: 0, finishFlush: zlib.constants.Z_SYNC_FLUSH });
        return crowd.flood(8, spdyHello(d, siege), () => {
            let begun = false;
            return streams((id) => {
                const body = begun ? stored : first;
                begun = true;
                return control(1, word(id), word(0), Buffer.alloc(2), body);
            }, 512);
        });
    }),
    'headers that are 16 MB when unpacked': attack((d, crowd, siege) => {
        const bomb = packed(Buffer.concat([word(1), word(16 << 20), Buffer.alloc(16 << 20, 0x61)])).subarray(0, 16000);
        return crowd.flood(8, Buffer.concat([spdyHello(d, siege), control(1, word(1), word(0), Buffer.alloc(2), bomb)]), Buffer.alloc(1024));
    }),
    'a million headers of nothing': attack((d, crowd, siege) => {
        const bomb = packed(Buffer.concat([word(0xfffff), Buffer.alloc(8 << 20)])).subarray(0, 16000);
        return crowd.flood(8, Buffer.concat([spdyHello(d, siege), control(1, word(1), word(0), Buffer.alloc(2), bomb)]), Buffer.alloc(1024));
    }),
    'pings whose answers are not read': attack((d, crowd, siege) => crowd.flood(8, spdyHello(d, siege), repeated(control(6, word(1))), nothingRead)),
};

// --- reading, with the role watch ---

const watching = (d) => Object.entries(d.authHeaders('watch')).map(([k, v]) => `${k}: ${v}\r\n`).join('');

/** `count` requests at a time, each answer dropped, again and again. */
async function keepAsking(d, crowd, count, request, status = 'HTTP/1.1 200') {
    const first = crowd.expect(request(), status);
    const lane = async () => {
        while (!crowd.isOver) {
            const s = await crowd.connect();
            if (!s) {
                await pause(10);
                continue;
            }
            s.write(request());
            await Promise.race([new Promise((done) => s.once('close', done)), pause(Math.max(0, crowd.until - Date.now()))]);
            s.destroy();
        }
    };
    await Promise.all([first, ...Array.from({ length: count }, lane)]);
}

const post = (d, path, json) => {
    const body = JSON.stringify(json);
    return head(d, `POST ${path}`, `${watching(d)}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`);
};
const get = (d, path) => head(d, `GET ${path}`, `${watching(d)}Connection: close\r\n\r\n`);

/** A process that has written a lot: `mib` of it are held. */
async function withHistory(d, body, { mib, pty = false, script = `seq -f '%.0f the quick brown fox jumps over the lazy dog' 1 100000000 | head -c ${mib << 20}` } = {}) {
    const p = await d.spawn({ command: 'sh', args: ['-c', `${script}; exec sleep 100000`], history_bytes: mib << 20, pty });
    try {
        await waitUntil(async () => (await d.get(p.id)).output.bytes_total >= (mib << 20) * 0.99, 'the history', 60000, 100);
        return await body(p);
    } finally {
        await d.remove(p.id);
    }
}
const prepared = (body, { mib = 48, ...options } = {}) => (d, siege) =>
    withHistory(d, (p) => attack((_, crowd) => body(d, crowd, p), { lastsMs: LASTS_MS + 500 })(d, siege), { mib: Math.min(mib, siege.historyMiB), ...options });

export const watch = {
    '500 waits for a costly pattern': attack(
        (d, crowd) =>
            withNoise(d, async (noise) => {
                const request = post(d, `/v1/processes/${noise.id}/wait`, { until: [{ regex: '(a|b|[0-9]+x?){1,20}(c|[0-9]{2,12})+z$' }], from: 0, timeout_ms: 30000 });
                await crowd.expect(request.replace('"timeout_ms":30000', '"timeout_ms":    0'), 'HTTP/1.1 200');
                await crowd.gather(500, request);
                await crowd.hold();
            }),
        { lastsMs: LASTS_MS + 1500 },
    ),
    'patterns that are refused': attack((d, crowd, siege) =>
        keepAsking(d, crowd, 16, () => post(d, `/v1/processes/${siege.witness.process.id}/wait`, { until: [{ regex: '((((a{1,30}){1,30}){1,30}){1,30}){1,30}' }], timeout_ms: 0 }), 'HTTP/1.1 400'),
    ),
    'a search of all history with no time to wait': prepared((d, crowd, p) =>
        keepAsking(d, crowd, 8, () => post(d, `/v1/processes/${p.id}/wait`, { until: [{ regex: '(x+x+)+y' }], from: 0, timeout_ms: 0 })),
    ),
    recordings: prepared((d, crowd, p) => keepAsking(d, crowd, 20, () => get(d, `/v1/processes/${p.id}/recording`)), { pty: true }),
    screens: prepared((d, crowd, p) => keepAsking(d, crowd, 20, () => get(d, `/v1/processes/${p.id}/screen`)), { pty: true, mib: 16 }),
    'tails of all lines': prepared((d, crowd, p) => keepAsking(d, crowd, 20, () => get(d, `/v1/processes/${p.id}/output?tail_lines=1000000`))),
    'one stream of two': prepared((d, crowd, p) => keepAsking(d, crowd, 20, () => get(d, `/v1/processes/${p.id}/output?stream=stderr`))),
    'recordings that are not read': prepared(async (d, crowd, p) => {
        await crowd.expect(get(d, `/v1/processes/${p.id}/recording`), 'HTTP/1.1 200');
        await crowd.gather(300, get(d, `/v1/processes/${p.id}/recording`), nothingRead);
        await crowd.hold();
    }, { pty: true, mib: 16 }),
    'events that are not read': attack(async (d, crowd) => {
        await crowd.expect(get(d, '/v1/events?since=0'), 'HTTP/1.1 200');
        await crowd.gather(500, get(d, '/v1/events?since=0'), nothingRead);
        await crowd.hold();
    }),
};
