// SPDX-License-Identifier: Apache-2.0
//
// smuggling.test.mjs - requests that two parsers would read differently
//
// Either the gateway refuses one, or the sandbox gets exactly one request that says what
// was judged. The upstream keeps all bytes it was ever sent.

import assert from 'node:assert/strict';
import { noteCode } from '../lib/codes.mjs';
import { rawUpstream, useGateway } from '../lib/gateway.mjs';
import { RawConn } from '../lib/raw.mjs';
import { after, describe, it } from '../lib/test.mjs';

const P = '/sandboxes/a/proxy/80/x';
const get = (lines, line = `GET ${P} HTTP/1.1`) => `${line}\r\n${lines}\r\n`;
const H = 'Host: gw\r\n';
const post = (lines, body, line = `POST ${P} HTTP/1.1`) => `${line}\r\n${H}${lines}\r\n${body}`;
const evil = 'GET /evil HTTP/1.1\r\nHost: x\r\n\r\n';

/** [name, bytes, statuses that are right] */
const refused = [
    ['length and chunks', post('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${evil}`)],
    ['chunks and length', post('Transfer-Encoding: chunked\r\nContent-Length: 4\r\n', `0\r\n\r\n${evil}`)],
    ['two lengths', post('Content-Length: 0\r\nContent-Length: 30\r\n', evil)],
    ['two equal lengths', post('Content-Length: 3\r\nContent-Length: 3\r\n', 'abc')],
    ['a list of lengths', post('Content-Length: 3, 3\r\n', 'abc')],
    ['a length with a sign', post('Content-Length: +3\r\n', 'abc')],
    ['a negative length', post('Content-Length: -1\r\n', '')],
    ['a hexadecimal length', post('Content-Length: 0x3\r\n', 'abc')],
    ['a length with a space inside', post('Content-Length: 1 0\r\n', 'abc')],
    ['a length beyond 64 bits', post('Content-Length: 99999999999999999999\r\n', '')],
    ['an empty length', post('Content-Length: \r\n', '')],
    ['chunked twice', post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n')],
    ['chunked, chunked', post('Transfer-Encoding: chunked, chunked\r\n', '0\r\n\r\n')],
    ['identity', post('Transfer-Encoding: identity\r\n', '')],
    ['gzip, chunked', post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n')],
    ['chunked, identity', post('Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n')],
    ['xchunked', post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n')],
    ['chunked with a vertical tab', post('Transfer-Encoding: \x0bchunked\r\n', '0\r\n\r\n')],
    ['a space before the colon', post('Transfer-Encoding : chunked\r\n', '0\r\n\r\n')],
    ['a tab before the colon', post('Content-Length\t: 3\r\n', 'abc')],
    ['a folded coding', post('Transfer-Encoding:\r\n chunked\r\n', '0\r\n\r\n')],
    ['a folded header', get(`${H}X: a\r\n b\r\n`)],
    ['a space before the first header', `GET ${P} HTTP/1.1\r\n X: y\r\n${H}\r\n`],
    ['a bare LF', `GET ${P} HTTP/1.1\nHost: gw\n\n`],
    ['a bare LF among headers', get(`${H}X: a\nY: b\r\n`)],
    ['a bare CR in a value', get(`${H}X: a\rY: b\r\n`)],
    ['a NUL in a value', get(`${H}X: a\0b\r\n`)],
    ['a NUL in a name', get(`${H}X\0: b\r\n`)],
    ['a control character', get(`${H}X: a\x01b\r\n`)],
    ['a header without a name', get(`${H}: x\r\n`)],
    ['a header without a colon', get(`${H}nonsense\r\n`)],
    ['a name that is no token', get(`${H}X(a): b\r\n`)],
    ['two Hosts', get(`${H}Host: other\r\n`)],
    ['no Host', get('')],
    ['a Host with a path', get('Host: gw/evil\r\n')],
    ['a Host with a user', get('Host: a@b\r\n')],
    ['another host in an absolute target', get(H, `GET http://other${P} HTTP/1.1`)],
    ['another scheme', get(H, `GET ftp://gw${P} HTTP/1.1`)],
    ['CONNECT', get(H, 'CONNECT a:80 HTTP/1.1')],
    ['an asterisk', get(H, 'OPTIONS * HTTP/1.1')],
    ['a fragment', get(H, `GET ${P}#a HTTP/1.1`)],
    ['a space in the target', get(H, `GET ${P} y HTTP/1.1`)],
    ['a tab in the target', get(H, `GET ${P}\ty HTTP/1.1`)],
    ['a byte beyond ASCII in the target', get(H, `GET ${P}\xff HTTP/1.1`)],
    ['HTTP/2.0', get(H, `GET ${P} HTTP/2.0`)],
    ['HTTP/1.2', get(H, `GET ${P} HTTP/1.2`)],
    ['HTTP/0.9', `GET ${P}\r\n\r\n`],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['chunks in HTTP/1.0', post('Transfer-Encoding: chunked\r\n', '0\r\n\r\n', `POST ${P} HTTP/1.0`)],
    ['a target that is too long', get(H, `GET ${P}${'a'.repeat(20000)} HTTP/1.1`)],
    ['headers that are too large', get(`${H}X: ${'a'.repeat(40000)}\r\n`)],
    ['too many headers', get(H + 'X: y\r\n'.repeat(200))],
];

/** Their head is fine, so the sandbox sees the request begin; the broken body never arrives whole. */
const brokenBodies = [
    ['a bad chunk size', 'zz\r\nabc\r\n0\r\n\r\n'],
    ['a negative chunk size', '-1\r\n\r\n'],
    ['a chunk size with 0x', '0x3\r\nabc\r\n0\r\n\r\n'],
    ['a chunk size beyond 64 bits', 'fffffffffffffffff\r\nabc'],
    ['a chunk without its line end', '3\r\nabcX\r\n0\r\n\r\n'],
    ['a chunk size with a bare LF', '3\nabc\r\n0\r\n\r\n'],
    ['a bare LF in a chunk extension', `3;a\nb\r\nabc\r\n0\r\n\r\n`],
    ['endless chunk extensions', `3;${'a'.repeat(50000)}\r\nabc\r\n0\r\n\r\n`],
    ['a folded trailer', '0\r\nX: a\r\n b\r\n\r\n'],
    ['a length as a trailer', '0\r\nContent-Length: 30\r\n\r\n'],
    ['a coding as a trailer', '0\r\nX: a\r\ntransfer-encoding: chunked\r\n\r\n'],
];

describe('requests that could be read in two ways', () => {
    const held = {};
    const gw = useGateway(async () => {
        held.up = await rawUpstream((c) => {
            c.onData = () => {
                while (c.text.slice(c.done ?? 0).includes('\r\n\r\n') && !/chunked/i.test(c.text)) {
                    c.done = c.text.indexOf('\r\n\r\n', c.done ?? 0) + 4;
                    c.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
                }
            };
        });
        return { sandboxes: { a: { address: '127.0.0.1', ports: { 80: held.up.port } } } };
    });
    after(() => held.up.close());
    const seen = () => held.up.conns.map((c) => c.text).join('');

    for (const [name, bytes] of refused) {
        it(`refuses ${name}, and the sandbox hears nothing`, async () => {
            const was = seen();
            const c = await RawConn.connect(gw.g);
            c.send(bytes);
            const res = await c.response();
            assert.ok(res.status >= 400 && res.status < 506, `${res.status}`);
            noteCode(JSON.parse(res.body).code);
            await c.rest();
            assert.equal(seen(), was);
        });
    }

    for (const [name, body] of brokenBodies) {
        it(`cuts off ${name}, so that no whole request arrives`, async () => {
            const before = held.up.conns.length;
            const c = await RawConn.connect(gw.g);
            c.send(post('Transfer-Encoding: chunked\r\n', body + evil));
            const res = await c.response();
            assert.ok([400, 431].includes(res.status), `${res.status}`);
            await c.rest();
            const got = held.up.conns.slice(before).map((x) => x.text);
            for (const text of got) {
                assert.ok(!text.includes('evil'), text);
                const body = text.slice(text.indexOf('\r\n\r\n') + 4); // the last header may end in 0 as well
                assert.ok(!body.endsWith('0\r\n\r\n'), text);
            }
        });
    }

    const framing = (text) => text.split('\r\n\r\n')[0].split('\r\n').filter((l) => /^(content-length|transfer-encoding|host|connection)/i.test(l));

    it('takes an absolute target of its own host as the path it is', async () => {
        const c = await RawConn.connect(gw.g);
        c.send(get(H, `GET http://gw${P}?q HTTP/1.1`));
        assert.equal((await c.response()).status, 200);
        assert.match(seen(), /GET \/x\?q HTTP\/1.1\r\nHost: 127.0.0.1:\d+\r\n/);
        c.destroy();
    });

    it('writes the framing itself', async () => {
        const c = await RawConn.connect(gw.g);
        c.send(post('content-LENGTH:   3  \r\nConnection: keep-alive, X-A\r\nX-A: 1\r\nContent_Length: 5\r\nTransfer_Encoding: x\r\nTrailer: X\r\n', 'abc'));
        assert.equal((await c.response()).status, 200);
        const text = held.up.conns.map((x) => x.text).join('');
        const last = text.slice(text.lastIndexOf('POST '));
        assert.deepEqual(framing(last).map((l) => l.toLowerCase().replace(/\d+\.\d+.*/, 'ip')), ['host: ip', 'content-length: 3']);
        assert.ok(!/x-a|_|trailer/i.test(last.split('\r\n\r\n')[0].replace(/^.*forwarded.*$/gim, '')), last);
        c.destroy();
    });

    it('answers one request for each it was sent, and no more', async () => {
        const c = await RawConn.connect(gw.g);
        c.send(post('Content-Length: 5\r\n', `abcde${get(H)}`));
        assert.equal((await c.response()).status, 200);
        assert.equal((await c.response()).status, 200);
        c.destroy();
    });
});
