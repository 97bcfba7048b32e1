// SPDX-License-Identifier: Apache-2.0
//
// certs.mjs - a private certificate authority, and certificates of it

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const openssl = (...args) => execFileSync('openssl', args, { stdio: 'pipe' });
const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

export class Authority {
    constructor(dir, name) {
        this.dir = dir;
        this.name = name;
        this.file = path.join(dir, `${name}.ca.crt`);
        this.key = path.join(dir, `${name}.ca.key`);
        openssl('req', '-x509', ...key, '-days', '2', '-subj', `/CN=${name}`, '-keyout', this.key, '-out', this.file);
    }

    /** `alt` is as in a configuration of OpenSSL: "IP:127.0.0.1,DNS:localhost". */
    issue(name, alt, days = 2) {
        const at = (ext) => path.join(this.dir, `${this.name}.${name}.${ext}`);
        openssl('req', ...key, '-subj', `/CN=${name}`, '-keyout', at('key'), '-out', at('csr'));
        fs.writeFileSync(at('ext'), `subjectAltName=${alt}\n`);
        openssl('x509', '-req', '-in', at('csr'), '-CA', this.file, '-CAkey', this.key, '-CAcreateserial', '-days', String(days), '-extfile', at('ext'), '-out', at('crt'));
        return { keyFile: at('key'), certFile: at('crt'), key: fs.readFileSync(at('key')), cert: fs.readFileSync(at('crt')) };
    }
}
