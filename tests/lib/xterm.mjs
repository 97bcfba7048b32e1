// SPDX-License-Identifier: Apache-2.0
//
// xterm.mjs - xterm.js without a browser, and all that it shows as text
//
// The text has every cell of the screen and of the scrollback with its attributes,
// which lines are wrapped, the cursor, the pen and the modes, so that two terminals
// can be compared by comparing two strings. term.c writes the same.

import xterm from '@xterm/headless';

const CM = { 0: 0, 0x1000000: 1, 0x2000000: 2, 0x3000000: 3 };
const MICE = { NONE: 0, X10: 1, VT200: 2, DRAG: 3, ANY: 4 };
const CODINGS = { DEFAULT: 0, SGR: 1, SGR_PIXELS: 2 };
const STYLES = { block: 1, underline: 3, bar: 5 };

export const SCROLLBACK = 1000;

/** A colour with its mode; bits that mean nothing in this mode are left out. */
function colour(v) {
    const mode = CM[v & 0x3000000];
    if (mode === 0) return 0;
    return ((v & 0x3000000) | (v & (mode === 3 ? 0xffffff : 0xff))) >>> 0;
}

function bits(fg, bg) {
    return (
        (fg >>> 26) |
        (((bg >>> 26) & 1) << 6) |
        (((bg >>> 27) & 1) << 7) |
        (((bg >>> 29) & 1) << 8) |
        (((bg >>> 30) & 1) << 9)
    );
}

export class Reference {
    constructor(rows, cols, options = {}) {
        this.term = new xterm.Terminal({ rows, cols, scrollback: SCROLLBACK, logLevel: 'off', allowProposedApi: true, ...options });
        this.core = this.term._core;
        this.answers = '';
        this.term.onData((d) => (this.answers += d));
        this.title = '';
        this.term.onTitleChange((t) => (this.title = t));
    }

    /** At once: what goes wrong in xterm.js is thrown here, not from a timer. */
    write(bytes) {
        this.core.writeSync(new Uint8Array(bytes));
    }

    resize(rows, cols) {
        this.term.resize(cols, rows);
    }

    dispose() {
        this.term.dispose();
    }

    #cell(line, col) {
        const d = line._data;
        const [content, fg, bg] = [d[col * 3], d[col * 3 + 1], d[col * 3 + 2]];
        if (content === 1 << 22 && colour(fg) + colour(bg) === 0 && bits(fg, bg) === 0 && !(bg & 0x10000000)) return '.';
        const text = line.getString(col);
        const ext = bg & 0x10000000 ? line._extendedAttrs[col] : undefined;
        const link = ext?.urlId ? 'link' : '';
        const style = ext && !link ? ext.underlineStyle : 0;
        const under = style > 1 ? colour(ext._ext) | (style << 26) : 0;
        const hex = (n) => (n >>> 0).toString(16);
        return `[${text}|${content >>> 22}|${hex(colour(fg))}|${hex(colour(bg))}|${hex(bits(fg, bg))}|${hex(under)}|${link}]`;
    }

    #grid(buffer, name) {
        const { cols, rows } = this.core._bufferService;
        // The alternate screen has no scrollback, whatever a change of size left above it.
        const first = name === 'alt' ? buffer.ybase : 0;
        const end = name === 'alt' ? buffer.ybase + rows : buffer.lines.length;
        const out = [`${name} base ${buffer.ybase - first} len ${end - first} region ${buffer.scrollTop}-${buffer.scrollBottom}`];
        for (let i = first; i < end; i++) {
            const line = buffer.lines.get(i);
            let s = line.isWrapped ? '+' : ' ';
            for (let c = 0; c < cols; c++) s += this.#cell(line, c);
            out.push(s);
        }
        return out;
    }

    dump() {
        const { normal, alt, active } = this.core._bufferService.buffers;
        const out = this.#grid(normal, 'main');
        if (active === alt) out.push(...this.#grid(alt, 'alt'));
        const cs = this.core.coreService;
        const m = cs.decPrivateModes;
        const n = (x) => (x ? 1 : 0);
        const style = m.cursorStyle ? STYLES[m.cursorStyle] + (m.cursorBlink ? 0 : 1) : 0;
        const pen = this.core._inputHandler._curAttrData;
        const mouse = this.core.coreMouseService;
        out.push(
            `cursor ${active.x},${active.y}`,
            `modes ${n(m.applicationCursorKeys)} ${n(m.applicationKeypad)} ${n(m.bracketedPasteMode)} ${n(m.origin)} ${n(m.reverseWraparound)} ${n(m.sendFocus)} ${n(m.wraparound)} ${n(cs.modes.insertMode)} ${n(!cs.isCursorHidden)} ${n(m.synchronizedOutput)} ${style} mouse ${MICE[mouse.activeProtocol]} ${CODINGS[mouse.activeEncoding]}`,
            `pen ${((colour(pen.fg) | (pen.fg & 0xfc000000)) >>> 0).toString(16)} ${((colour(pen.bg) | (pen.bg & 0xfc000000 & ~0x10000000)) >>> 0).toString(16)}`,
        );
        return `${out.join('\n')}\n`;
    }
}

/** The first difference of two dumps, for people; null if there is none. */
export function difference(want, got) {
    if (want === got) return null;
    const a = want.split('\n');
    const b = got.split('\n');
    const i = a.findIndex((line, k) => line !== b[k]);
    const at = i < 0 ? a.length : i;
    let c = 0;
    while (a[at]?.[c] !== undefined && a[at][c] === b[at]?.[c]) c++;
    const near = (s) => (s ?? '(nothing)').slice(Math.max(0, c - 30), c + 160);
    return `line ${at} of ${a.length}, from character ${c}:\n  want ${near(a[at])}\n  got  ${near(b[at])}`;
}
