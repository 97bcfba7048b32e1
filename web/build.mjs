// SPDX-License-Identifier: Apache-2.0
//
// build.mjs - builds the page as one file, and the policy that allows only its own script and style sheet
//
// Writes dist/page.html, dist/page.html.gz (what the binary carries) and
// dist/page.csp: the Content-Security-Policy with the hashes of the one script
// and the one style sheet. The page sends requests only to the daemon that served it.

import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import zlib from 'node:zlib';
import { build } from 'esbuild';

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.join(here, 'dist');

async function bundle(entry) {
    const result = await build({
        entryPoints: [path.join(here, 'src', entry)],
        bundle: true,
        minify: true,
        write: false,
        format: 'iife',
        target: ['chrome111', 'firefox115', 'safari16.4'],
        legalComments: 'none',
        tsconfig: path.join(here, 'tsconfig.json'),
        logLevel: 'warning',
    });
    return result.outputFiles[0].text.trim();
}

const hash = (text) => `'sha256-${crypto.createHash('sha256').update(text).digest('base64')}'`;
const script = (await bundle('main.ts')).replaceAll('</script', '<\\/script');
const style = await bundle('style.css');

// Function replacements, because `$&` in a bundle would mean something to replace().
const html = fs
    .readFileSync(path.join(here, 'src/index.html'), 'utf8')
    .replace('/*STYLE*/', () => style)
    .replace('/*SCRIPT*/', () => script);

const policy = [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    // The hash of nothing: xterm's <style> elements stay empty, see styles.ts.
    `style-src-elem ${hash(style)} ${hash('')}`,
    // xterm's renderer without WebGL sets colours by style attributes; they can load nothing here.
    "style-src-attr 'unsafe-inline'",
    "connect-src 'self'",
    "img-src data: blob:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
].join('; ');

fs.mkdirSync(out, { recursive: true });
fs.writeFileSync(path.join(out, 'page.html'), html);
fs.writeFileSync(path.join(out, 'page.csp'), policy);
// No name and no time in the header: the same sources give the same bytes.
fs.writeFileSync(path.join(out, 'page.html.gz'), zlib.gzipSync(html, { level: 9 }));
