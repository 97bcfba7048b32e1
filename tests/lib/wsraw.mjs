// SPDX-License-Identifier: Apache-2.0
//
// wsraw.mjs - RFC 6455 by hand, so that frames can be wrong on purpose

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { RawConn } from './raw.mjs';

export const OP = { CONT: 0, TEXT: 1, BINARY: 2, CLOSE: 8, PING: 9, PONG: 10 };
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** One frame. `length` names another length than the payload has; `form` forces 7, 16 or 64 bits. */
export function frame(opcode, payload = '', { fin = true, rsv = 0, mask = true, length, form, key } = {}) {
    const body = Buffer.isBuffer(payload) ? payload : Buffer.from(payload, 'utf8');
    const n = length ?? body.length;
    const bits = form ?? (n < 126 ? 7 : n < 65536 ? 16 : 64);
    const first = Buffer.from([(fin ? 0x80 : 0) | (rsv << 4) | opcode]);
    const m = mask ? 0x80 : 0;
    let len;
    if (bits === 7) {
        len = Buffer.from([m | n]);
    } else if (bits === 16) {
        len = Buffer.from([m | 126, n >> 8, n & 255]);
    } else {
        len = Buffer.alloc(9);
        len[0] = m | 127;
        len.writeBigUInt64BE(BigInt(n), 1);
    }
    if (!mask) return Buffer.concat([first, len, body]);
    const k = key ?? crypto.randomBytes(4);
    const masked = Buffer.alloc(body.length);
    for (let i = 0; i < body.length; i++) masked[i] = body[i] ^ k[i & 3];
    return Buffer.concat([first, len, k, masked]);
}

export function closePayload(code, reason = '') {
    const r = Buffer.isBuffer(reason) ? reason : Buffer.from(reason, 'utf8');
    const b = Buffer.alloc(2 + r.length);
    b.writeUInt16BE(code);
    r.copy(b, 2);
    return b;
}

export class WsRaw {
    constructor(conn, answer) {
        this.conn = conn;
        this.answer = answer;
    }

    /** The request of a handshake; `headers` replace or, with null, remove the usual ones. */
    static handshake(d, path, { headers = {}, role = 'own', version = 'HTTP/1.1', method = 'GET' } = {}) {
        const key = crypto.randomBytes(16).toString('base64');
        const all = {
            Host: d.host ? `${d.host}:${d.port}` : 'localhost',
            Connection: 'Upgrade',
            Upgrade: 'websocket',
            'Sec-WebSocket-Version': '13',
            'Sec-WebSocket-Key': key,
            ...d.authHeaders(role),
            ...headers,
        };
        const lines = Object.entries(all)
            .filter(([, v]) => v !== null)
            .map(([k, v]) => `${k}: ${v}\r\n`);
        return { key, bytes: `${method} ${path} ${version}\r\n${lines.join('')}\r\n` };
    }

    static async open(d, path, options = {}) {
        const conn = await RawConn.connect(d, { secure: d.tls });
        const { key, bytes } = WsRaw.handshake(d, path, options);
        conn.send(bytes);
        const answer = await conn.response();
        if (answer.status !== 101) {
            conn.destroy();
            assert.fail(`handshake of ${path} answered ${answer.status}: ${answer.body}`);
        }
        assert.equal(answer.headers.upgrade.toLowerCase(), 'websocket');
        assert.match(answer.headers.connection, /upgrade/i);
        assert.equal(
            answer.headers['sec-websocket-accept'],
            crypto
                .createHash('sha1')
                .update(key + GUID)
                .digest('base64'),
        );
        return new WsRaw(conn, answer);
    }

    send(...args) {
        this.conn.send(frame(...args));
        return this;
    }

    sendJson(value) {
        return this.send(OP.TEXT, JSON.stringify(value));
    }

    /** The next frame as sent: {fin, rsv, opcode, payload}. */
    async frame(ms = 10000) {
        const [b0, b1] = await this.conn.read(2, ms);
        assert.equal(b1 & 0x80, 0, 'a server must not mask');
        let n = b1 & 0x7f;
        if (n === 126) {
            n = (await this.conn.read(2, ms)).readUInt16BE();
            assert.ok(n >= 126, 'length not in its shortest form');
        } else if (n === 127) {
            n = Number((await this.conn.read(8, ms)).readBigUInt64BE());
            assert.ok(n >= 65536, 'length not in its shortest form');
        }
        const f = {
            fin: b0 >> 7 === 1,
            rsv: (b0 >> 4) & 7,
            opcode: b0 & 15,
            payload: Buffer.from(await this.conn.read(n, ms)),
        };
        if (f.opcode >= 8) assert.ok(f.fin && n <= 125, 'control frame fragmented or too long');
        if (f.opcode === OP.TEXT && f.fin && !f.rsv) new TextDecoder('utf-8', { fatal: true }).decode(f.payload);
        return f;
    }

    /** The next frame of this opcode; others are passed over. */
    async find(opcode, ms = 10000) {
        for (;;) {
            const f = await this.frame(ms);
            if (f.opcode === opcode) return f;
            assert.notEqual(
                f.opcode,
                OP.CLOSE,
                `closed with ${f.payload.length >= 2 ? f.payload.readUInt16BE() : 'nothing'}: ${f.payload.subarray(2)}`,
            );
        }
    }

    /** The next text message with this type. */
    async message(type, ms = 10000) {
        for (;;) {
            const m = JSON.parse((await this.find(OP.TEXT, ms)).payload.toString());
            if (m.type === type) return m;
        }
    }

    /** Collects binary payload until `n` bytes are there. */
    async binary(n, ms = 20000) {
        const parts = [];
        let have = 0;
        while (have < n) {
            const f = await this.frame(ms);
            assert.notEqual(f.opcode, OP.CLOSE, 'closed before all bytes came');
            if (f.opcode !== OP.BINARY && f.opcode !== OP.CONT) continue;
            parts.push(f.payload);
            have += f.payload.length;
        }
        return Buffer.concat(parts);
    }

    /** The daemon closes with this code, and then the connection ends. */
    async expectClose(code, ms = 10000, { answer = true } = {}) {
        for (;;) {
            const f = await this.frame(ms);
            if (f.opcode !== OP.CLOSE) continue;
            const got = f.payload.length >= 2 ? f.payload.readUInt16BE() : null;
            assert.equal(got, code, `close code (reason ${JSON.stringify(f.payload.subarray(2).toString())})`);
            if (answer) this.send(OP.CLOSE, f.payload.subarray(0, 2));
            await this.conn.rest(ms);
            this.conn.destroy();
            return f.payload.subarray(2).toString();
        }
    }

    destroy() {
        this.conn.destroy();
    }
}
