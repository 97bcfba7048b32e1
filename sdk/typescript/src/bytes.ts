// SPDX-License-Identifier: Apache-2.0
//
// bytes.ts - conversions between text and bytes, without Node's Buffer

const encoder = new TextEncoder();
// Keep byte order marks: a piece from the middle of the output may start with one.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export const encode = (text: string): Uint8Array => encoder.encode(text);
export const decode = (bytes: Uint8Array): string => decoder.decode(bytes);

/** The bytes of a reply's `data`, which is text or base64. */
export function bytesOf(data: string, encoding: string): Uint8Array {
    if (encoding !== 'base64') return encode(data);
    const text = atob(data);
    const out = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) out[i] = text.charCodeAt(i);
    return out;
}

export function base64(bytes: Uint8Array): string {
    const parts: string[] = [];
    for (let i = 0; i < bytes.length; i += 8192) parts.push(String.fromCharCode(...bytes.subarray(i, i + 8192)));
    return btoa(parts.join(''));
}

export function base64Url(text: string): string {
    return base64(encode(text)).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
    const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
    let at = 0;
    for (const p of parts) {
        out.set(p, at);
        at += p.length;
    }
    return out;
}

/** A unique name. It is not a secret, so a runtime without `crypto` is good enough. */
export function randomName(prefix: string): string {
    const bytes = new Uint8Array(12);
    if (globalThis.crypto) crypto.getRandomValues(bytes);
    else bytes.forEach((_, i) => (bytes[i] = Math.random() * 256));
    return prefix + Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');
}
