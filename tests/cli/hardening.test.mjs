// SPDX-License-Identifier: Apache-2.0
// How the programs are built: what makes a fault of ours harder to use.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { releaseBinary, root } from '../lib/daemon.mjs';
import { describe, it } from '../lib/test.mjs';

const SIZE_MAX = 3_200_000; /* of a release without TLS; bench/results.c has the same bar */
const dynamic = path.resolve(root, process.env.HF_BUILD ?? 'build', 'holdfast');
const readelf = (...args) => execFileSync('readelf', args, { encoding: 'utf8' });

const binaries = { release: releaseBinary(), dynamic: fs.existsSync(dynamic) ? dynamic : null };
for (const [name, bin] of Object.entries(binaries)) {
    describe(`${name} build`, { skip: !bin && 'it is not built' }, () => {
        it('lies at a random place', () => assert.match(readelf('-hW', bin), /Type:\s+DYN/));

        it('has tables of addresses that cannot be written to', () => {
            assert.match(readelf('-lW', bin), /GNU_RELRO/);
            assert.match(readelf('-dW', bin), /BIND_NOW|NOW/);
        });

        it('has no memory that is both written and run', () => {
            const flags = [...readelf('-lW', bin).matchAll(/^\s+(LOAD|GNU_STACK)\s.*\s([R ][W ][E ]) 0x/gm)];
            assert.ok(flags.length >= 4, 'segments');
            for (const [line, , f] of flags) assert.ok(!(f.includes('W') && f.includes('E')), line);
        });
    });
}

describe('the builds', () => {
    it('check the sizes that the compiler knows', { skip: !binaries.dynamic && 'it is not built' }, () => {
        assert.match(readelf('-sW', '--dyn-syms', binaries.dynamic), /__(memcpy|snprintf|vsnprintf)_chk/);
    });

    it('a static release stays small', { skip: !binaries.release && 'it is not built' }, () => {
        const size = fs.statSync(binaries.release).size;
        const tls = fs.readFileSync(binaries.release).includes('OpenSSL 3.');
        assert.ok(tls || size < SIZE_MAX, `${size} bytes`);
    });
});
