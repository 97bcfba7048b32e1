// SPDX-License-Identifier: Apache-2.0
// HTTP/2 by the book: every case of h2spec, in the clear and over TLS. Nothing fails that nghttpd passes.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { after, it } from '../lib/test.mjs';
import { Authority } from '../lib/certs.mjs';
import { root, withDaemon } from '../lib/daemon.mjs';

const program = path.join(process.env.HF_BUILD ?? path.join(root, 'build'), 'go/h2spec');
const CASES = 146; // of the pinned version: a run that ends early proves nothing
const CASE_S = 5; // h2spec waits so long for an answer; only a case that fails takes all of it

// A call that neither GET nor POST get an answer to before their body is complete. Elsewhere an answer may come
// before the error that h2spec looks for; RFC 9113, section 8.1, allows that, and h2spec does not.
const PATH = '/dialects/opensandbox/v1/isolated/session';

const NGHTTPD_FAILS = {
    'http2/5.1.1 Sends stream identifier that is numerically smaller than previous':
        'nghttp2 takes a head of such a stream for one that came too late for a stream that was reset, and ignores it',
};
const IN_THE_CLEAR = {
    'http2/3.5 Sends invalid connection preface':
        'nghttpd speaks HTTP/2 alone; here a connection without the preface is one of HTTP/1.1, and is answered 400',
};

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-h2spec-'));
const { keyFile, certFile } = new Authority(dir, 'h2spec').issue('server', 'IP:127.0.0.1');
after(() => fs.rmSync(dir, { recursive: true, force: true }));

/** The cases that failed, from a report of JUnit's form. */
async function failures(d, ...args) {
    assert.ok(fs.existsSync(program), `${program} is missing: run make go-tests`);
    const report = path.join(dir, `${d.port}.xml`);
    const words = ['-p', String(d.port), '-P', PATH, '-S', '-o', String(CASE_S), '-j', report, ...args];
    await promisify(execFile)(program, words, { timeout: 600000, maxBuffer: 1 << 24 }).catch((err) => {
        if (!fs.existsSync(report)) throw err; // failed cases make it exit 1
    });
    const cases = [...fs.readFileSync(report, 'utf8').matchAll(/<testcase package="(.*?)" classname="(.*?)"[^>]*>([\s\S]*?)<\/testcase>/g)];
    assert.equal(cases.length, CASES);
    return cases.filter(([, , , said]) => said.trim() !== '').map(([, section, name]) => `${section} ${name.replaceAll('&#34;', '"')}`);
}

withDaemon('h2spec in the clear', { auth: false, gateway: false, args: ['--no-auth'] }, (d) => {
    it('fails where nghttpd does, and where HTTP/1.1 is spoken as well', async () => {
        assert.deepEqual((await failures(d)).sort(), [...Object.keys(IN_THE_CLEAR), ...Object.keys(NGHTTPD_FAILS)]);
    });
});

withDaemon('h2spec over TLS', { auth: false, gateway: false, args: ['--no-auth', '--tls-cert', certFile, '--tls-key', keyFile] }, (d) => {
    it('fails where nghttpd does', async () => {
        assert.deepEqual(await failures(d, '-t', '-k'), Object.keys(NGHTTPD_FAILS));
    });
});
