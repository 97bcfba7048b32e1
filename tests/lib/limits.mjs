// SPDX-License-Identifier: Apache-2.0
//
// limits.mjs - bounds that the tests hold the daemon to, read from src/base/limits.h and the dialects' headers

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const src = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../src');
const headers = ['base/limits.h', ...fs.readdirSync(path.join(src, 'dialects')).map((name) => `dialects/${name}/${name}_limits.h`)];
const source = headers
    .map((file) => path.join(src, file))
    .filter((file) => fs.existsSync(file))
    .map((file) => fs.readFileSync(file, 'utf8'))
    .join('\n')
    .replace(/\s*\\\n\s*/g, ' '); // some definitions take two lines

/** The value of a limit: products and shifts of whole numbers only. */
export function limit(name) {
    const m = new RegExp(`^#define ${name} (.*?)(/\\*.*)?$`, 'm').exec(source);
    if (!m) throw new Error(`no limit ${name}`);
    const text = m[1].replaceAll('LL', '').trim();
    if (!/^[\d\s()*<]+$/.test(text)) throw new Error(`${name} is not a number: ${text}`);
    return text
        .replace(/[()\s]/g, '')
        .split('*')
        .map((f) => {
            const [a, b = '0'] = f.split('<<');
            return Number(a) * 2 ** Number(b);
        })
        .reduce((a, b) => a * b, 1);
}
