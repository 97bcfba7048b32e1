// SPDX-License-Identifier: Apache-2.0
// Request bodies: lengths, chunks, Expect, limits, and the shapes that smuggle requests.

import assert from 'node:assert/strict';
import { it } from '../lib/test.mjs';
import { checkProblem, withDaemon } from '../lib/daemon.mjs';
import { RawConn, exchange, requestBytes } from '../lib/raw.mjs';
import { waitUntil } from '../lib/wait.mjs';

const RUN = JSON.stringify({ command: 'echo', args: ['hello'] });
const JSON_TYPE = { 'Content-Type': 'application/json' };

const chunked = (...parts) => parts.map((p) => `${p.length.toString(16)}\r\n${p}\r\n`).join('') + '0\r\n\r\n';

withDaemon('http bodies', {}, (d) => {
    const post = (headers, body, path = '/v1/processes/run') =>
        Buffer.concat([
            requestBytes(d, `POST ${path}`, { headers: { ...JSON_TYPE, ...headers } }),
            Buffer.from(body, 'latin1'),
        ]);

    it('takes chunked bodies, however cut', async () => {
        for (const size of [1, 2, 7, 1000]) {
            const parts = RUN.match(new RegExp(`.{1,${size}}`, 'g'));
            const a = await exchange(d, post({ 'Transfer-Encoding': 'chunked' }, chunked(...parts)));
            assert.equal(a.status, 200, a.body.toString());
            assert.equal(JSON.parse(a.body).stdout, 'hello\n');
        }
    });

    it('takes chunk extensions and trailers, and the next request after them', async () => {
        const c = await RawConn.connect(d);
        c.send(
            post(
                { 'Transfer-Encoding': 'chunked', Trailer: 'X-Sum' },
                `${RUN.length.toString(16)};name="a value"\r\n${RUN}\r\n0\r\nX-Sum: 1\r\n\r\n`,
            ),
        );
        assert.equal((await c.response()).status, 200);
        c.send(requestBytes(d, 'GET /healthz'));
        assert.equal((await c.response()).status, 200);
        c.destroy();
    });

    it('refuses broken chunks and closes', async () => {
        const bad = [
            'zz\r\n{}\r\n0\r\n\r\n',
            '-1\r\n{}\r\n0\r\n\r\n',
            '2\r\n{}XX0\r\n\r\n',
            '2\n{}\n0\n\n',
            'fffffffffffffffff\r\n{}\r\n',
            '0x2\r\n{}\r\n0\r\n\r\n',
            ' 2\r\n{}\r\n0\r\n\r\n',
        ];
        for (const b of bad) {
            const c = await RawConn.connect(d);
            c.send(post({ 'Transfer-Encoding': 'chunked' }, b));
            const a = await c.response();
            checkProblem(a, a.status === 413 ? 'body_too_large' : 'bad_request', JSON.stringify(b));
            await c.expectEnd();
            c.destroy();
        }
    });

    /*
     * Each of these is read differently by some proxy in front. A daemon that guesses
     * lets a second request in through the body of the first.
     */
    it('refuses conflicting or odd lengths, and never serves what hides in the body', async () => {
        const hidden = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
        const line = `POST /v1/processes/run HTTP/1.1\r\nHost: 127.0.0.1:${d.port}\r\nAuthorization: Bearer ${d.token}\r\nContent-Type: application/json\r\n`;
        const n = RUN.length;
        const shapes = {
            'both length and chunked': `${line}Content-Length: ${n}\r\nTransfer-Encoding: chunked\r\n\r\n${chunked(RUN)}${hidden}`,
            'chunked first, then length': `${line}Transfer-Encoding: chunked\r\nContent-Length: ${n}\r\n\r\n${chunked(RUN)}${hidden}`,
            'two lengths': `${line}Content-Length: ${n}\r\nContent-Length: ${n + 5}\r\n\r\n${RUN}${hidden}`,
            'length list': `${line}Content-Length: ${n}, ${n + 1}\r\n\r\n${RUN}${hidden}`,
            'plus sign': `${line}Content-Length: +${n}\r\n\r\n${RUN}${hidden}`,
            negative: `${line}Content-Length: -1\r\n\r\n${RUN}${hidden}`,
            hex: `${line}Content-Length: 0x10\r\n\r\n${RUN}${hidden}`,
            'number with a space': `${line}Content-Length: 1 ${n}\r\n\r\n${RUN}${hidden}`,
            empty: `${line}Content-Length: \r\n\r\n${RUN}${hidden}`,
            overflow: `${line}Content-Length: 99999999999999999999999\r\n\r\n${RUN}${hidden}`,
            'space before colon': `${line}Content-Length : ${n}\r\n\r\n${RUN}${hidden}`,
            'unknown coding': `${line}Transfer-Encoding: xchunked\r\n\r\n${chunked(RUN)}${hidden}`,
            'chunked not last': `${line}Transfer-Encoding: chunked, identity\r\n\r\n${chunked(RUN)}${hidden}`,
            'chunked twice': `${line}Transfer-Encoding: chunked, chunked\r\n\r\n${chunked(RUN)}${hidden}`,
            'chunked in two headers': `${line}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n${chunked(RUN)}${hidden}`,
            gzip: `${line}Transfer-Encoding: gzip, chunked\r\n\r\n${chunked(RUN)}${hidden}`,
            'vertical tab': `${line}Transfer-Encoding: \vchunked\r\n\r\n${chunked(RUN)}${hidden}`,
            'folded header': `${line}Transfer-Encoding:\r\n chunked\r\n\r\n${chunked(RUN)}${hidden}`,
            'bare LF': `${line}X: y\nTransfer-Encoding: chunked\r\n\r\n${chunked(RUN)}${hidden}`,
            'bare CR': `${line}X: y\rTransfer-Encoding: chunked\r\n\r\n${chunked(RUN)}${hidden}`,
            'NUL in a header': `${line}X: a\0b\r\nContent-Length: ${n}\r\n\r\n${RUN}${hidden}`,
            'no name': `${line}: x\r\nContent-Length: ${n}\r\n\r\n${RUN}${hidden}`,
            'name with a space': `${line}X Y: x\r\nContent-Length: ${n}\r\n\r\n${RUN}${hidden}`,
            'chunked in HTTP/1.0': `${line.replace('HTTP/1.1', 'HTTP/1.0')}Transfer-Encoding: chunked\r\n\r\n${chunked(RUN)}${hidden}`,
        };
        const before = (await d.list()).length;
        for (const [name, bytes] of Object.entries(shapes)) {
            const c = await RawConn.connect(d);
            c.send(bytes);
            const a = await c.response().catch((err) => assert.fail(`${name}: ${err.message}`));
            assert.ok(a.status >= 400 && a.status <= 501, `${name}: answered ${a.status}`);
            checkProblem(a, JSON.parse(a.body).code, name);
            const rest = await c.rest().catch((err) => assert.fail(`${name}: ${err.message}`));
            assert.equal(rest.length, 0, `${name}: a second answer came: ${rest}`);
            c.destroy();
        }
        assert.equal((await d.list()).length, before);
    });

    it('asks for a length where a body is needed', async () => {
        const old = await exchange(
            d,
            requestBytes(d, 'POST /v1/processes/run', { headers: JSON_TYPE, version: 'HTTP/1.0' }),
        );
        checkProblem(old, 'length_required', 'HTTP/1.0 requires a Content-Length');
        const none = await exchange(d, requestBytes(d, 'POST /v1/processes/run', { headers: JSON_TYPE }));
        checkProblem(none, 'bad_json', 'in HTTP/1.1 no length means no body');
    });

    it('says 100 Continue once, before the body', async () => {
        const c = await RawConn.connect(d);
        c.send(
            requestBytes(d, 'POST /v1/processes/run', {
                headers: { ...JSON_TYPE, 'Content-Length': RUN.length, Expect: '100-continue' },
            }),
        );
        await c.expect('HTTP/1.1 100 Continue\r\n\r\n');
        c.send(RUN);
        const a = await c.response();
        assert.equal(JSON.parse(a.body).stdout, 'hello\n');
        c.destroy();
    });

    it('does not ask for a body that it will refuse', async () => {
        const refusals = [
            ['body_too_large', 'POST /v1/processes', { 'Content-Length': 10 << 20 }, 'own'],
            ['unauthorized', 'POST /v1/processes', { 'Content-Length': 10 }, null],
            ['not_found', 'POST /v1/nothing', { 'Content-Length': 10 }, 'own'],
        ];
        for (const [code, line, headers, role] of refusals) {
            const c = await RawConn.connect(d);
            c.send(requestBytes(d, line, { role, headers: { ...JSON_TYPE, ...headers, Expect: '100-continue' } }));
            checkProblem(await c.response(), code);
            c.destroy();
        }
    });

    it('refuses other expectations', async () => {
        const a = await exchange(d, post({ Expect: '200-ok', 'Content-Length': RUN.length }, RUN));
        checkProblem(a, 'expectation_failed');
    });

    it('refuses a body over the limit, announced or not, and says so before it closes', async () => {
        const big = Buffer.alloc(10 << 20, 'a');
        for (const headers of [{ 'Content-Length': big.length }, { 'Transfer-Encoding': 'chunked' }]) {
            const c = await RawConn.connect(d);
            c.send(requestBytes(d, 'POST /v1/processes', { headers: { ...JSON_TYPE, ...headers } }));
            if (headers['Content-Length']) c.send(big);
            else for (let i = 0; i < 160; i++) c.send('10000\r\n', big.subarray(0, 65536), '\r\n');
            const p = checkProblem(await c.response(), 'body_too_large');
            assert.ok(
                p.detail.includes('1048576') || p.limit !== undefined,
                `the limit is not named: ${JSON.stringify(p)}`,
            );
            c.destroy();
        }
        assert.equal((await d.request('GET', '/healthz')).status, 200);
    });

    it('refuses types other than JSON where JSON is meant', async () => {
        for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx']) {
            await d.refused('unsupported_media_type', 'POST', '/v1/processes', {
                body: RUN,
                headers: { 'Content-Type': type },
            });
        }
        for (const type of ['application/json', 'application/json; charset=utf-8', 'APPLICATION/JSON']) {
            await d.api('POST', '/v1/processes/run', { body: RUN, headers: { 'Content-Type': type }, expect: 200 });
        }
    });
});

withDaemon('chunks into a program', { gateway: false }, (d) => {
    it('malformed ones are answered before the connection ends, and what came before them is taken', async () => {
        for (const bad of ['zz\r\n', '3\r\nabcdef\r\n', '-1\r\n', '3 \n', '10000000000000000\r\n', '0\r\nContent-Length: 5\r\n\r\n']) {
            const p = await d.sh('exec cat', { stdin: 'pipe' });
            const c = await RawConn.connect(d);
            c.send(requestBytes(d, `POST /v1/processes/${p.id}/input`, {
                headers: { 'Content-Type': 'application/octet-stream', 'Transfer-Encoding': 'chunked' },
            }));
            c.send('5\r\ngood\n\r\n');
            await waitUntil(async () => (await d.output(p.id)).toString() === 'good\n', 'the good chunk');
            c.send(bad);
            const a = await c.response();
            checkProblem(a, 'bad_request', JSON.stringify(bad));
            assert.equal(a.headers.connection, 'close');
            await c.rest();
            c.destroy();
            assert.equal((await d.api('GET', `/v1/processes/${p.id}`)).json.status, 'running');
            await d.remove(p.id);
        }
    });
});
