// SPDX-License-Identifier: Apache-2.0
// The page as bytes: compressed for who takes it, whole for who does not, and a policy that fits it.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import zlib from 'node:zlib';
import { it } from '../lib/test.mjs';
import { withDaemon } from '../lib/daemon.mjs';

withDaemon('the page', {}, (d) => {
    const get = (headers = {}, method = 'GET') => d.request(method, '/', { role: null, headers });

    it('is the same for those who take gzip and those who do not', async () => {
        const plain = await get();
        assert.equal(plain.status, 200);
        assert.match(plain.headers['content-type'], /^text\/html/);
        assert.equal(plain.headers['content-encoding'], undefined);
        if (!plain.headers.vary) return; // A binary that was built without npm has a few lines instead.
        const packed = await get({ 'Accept-Encoding': 'br, gzip' });
        assert.equal(packed.headers['content-encoding'], 'gzip');
        assert.ok(packed.body.length * 3 < plain.body.length);
        assert.ok(zlib.gunzipSync(packed.body).equals(plain.body));
        for (const no of ['gzip;q=0', 'gzip; q=0.000', 'br, GZIP ;Q=0', 'x-gzipped', '*;q=0'])
            assert.equal((await get({ 'Accept-Encoding': no })).headers['content-encoding'], undefined, no);
        for (const yes of ['gzip;q=0.5', 'br, gzip; q=1', 'GZIP'])
            assert.equal((await get({ 'Accept-Encoding': yes })).headers['content-encoding'], 'gzip', yes);
        const head = await get({ 'Accept-Encoding': 'gzip' }, 'HEAD');
        assert.equal(Number(head.headers['content-length']), packed.body.length);
    });

    it('a link that is no longer valid gives a program a problem, and a browser the page, which says so', async () => {
        const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
        for (const path of ['/?ticket=spent', '/?link=hfl_ended']) {
            await d.refused('unauthorized', 'GET', path, { role: null });
            await d.refused('unauthorized', 'GET', path, { role: null, headers: { Accept: 'application/json' } });
            const a = await d.api('GET', path, { role: null, headers: { Accept: accept } });
            assert.equal(a.status, 401);
            assert.equal(a.headers['set-cookie'], undefined);
            if (!(await get()).headers.vary) continue; // This binary was built without the page.
            assert.match(a.headers['content-type'], /^text\/html/);
            assert.equal(a.headers['cache-control'], 'no-store');
            assert.ok(a.body.equals((await get()).body));
        }
    });

    it('runs one script and one style sheet, which its policy names, and asks nobody else', async () => {
        const { body, headers } = await get();
        const html = body.toString('utf8');
        const policy = headers['content-security-policy'];
        assert.match(policy, /default-src 'none'/);
        assert.match(policy, /frame-ancestors 'none'/);
        assert.doesNotMatch(policy, /unsafe-eval|script-src[^;]*unsafe-inline|https?:/);
        assert.equal(headers['referrer-policy'], 'no-referrer');
        for (const [tag, directive] of [['script', 'script-src'], ['style', 'style-src-elem']]) {
            for (const [, text] of html.matchAll(new RegExp(`<${tag}[^>]*>([\\s\\S]*?)</${tag}>`, 'g'))) {
                const hash = crypto.createHash('sha256').update(text).digest('base64');
                assert.ok(policy.split(';').some((p) => p.trim().startsWith(directive) && p.includes(hash)), `${tag} is not named`);
            }
        }
        assert.doesNotMatch(html, /<(?:script|link|img|iframe)[^>]*(?:src|href)="?https?:/);
    });
});
