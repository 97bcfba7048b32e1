// SPDX-License-Identifier: Apache-2.0
//
// keybar.ts - on-screen keys that a phone's keyboard lacks

import { h } from './dom.js';
import type { Pane } from './pane.js';

/** Single letters are cursor keys, whose sequence depends on the cursor key mode; the rest are sent as they are. */
const KEYS: [string, string, string][] = [
    ['Esc', '\x1b', 'Escape'],
    ['Tab', '\t', 'Tab'],
    ['^C', '\x03', 'Control C'],
    ['/', '/', 'Slash'],
    ['|', '|', 'Pipe'],
    ['-', '-', 'Minus'],
    ['~', '~', 'Tilde'],
    ['←', 'D', 'Left'],
    ['↓', 'B', 'Down'],
    ['↑', 'A', 'Up'],
    ['→', 'C', 'Right'],
    ['Home', 'H', 'Home'],
    ['End', 'F', 'End'],
    ['PgUp', '\x1b[5~', 'Page up'],
    ['PgDn', '\x1b[6~', 'Page down'],
];

export class KeyBar {
    readonly el: HTMLElement;
    readonly #pane: () => Pane | undefined;
    readonly #ctrl: HTMLButtonElement;
    readonly #alt: HTMLButtonElement;

    constructor(pane: () => Pane | undefined) {
        this.#pane = pane;
        this.#ctrl = this.#key('Ctrl', 'Control, for the next key', () => this.#stick('ctrl'));
        this.#alt = this.#key('Alt', 'Alt, for the next key', () => this.#stick('alt'));
        const keys = KEYS.map(([text, seq, label]) => this.#key(text, label, () => this.#send(seq)));
        keys.splice(2, 0, this.#ctrl, this.#alt);
        this.el = h('div', { class: 'key-bar', role: 'toolbar', 'aria-label': 'Keys' }, ...keys);
    }

    #key(text: string, label: string, act: () => void): HTMLButtonElement {
        // Keep the focus in the terminal, so that the phone's keyboard stays open.
        return h('button', { type: 'button', 'aria-label': label, tabIndex: -1, onpointerdown: (e: Event) => e.preventDefault(), onclick: act }, text);
    }

    #send(seq: string): void {
        const pane = this.#pane();
        if (!pane) return;
        const arrow = /^[A-DHF]$/.test(seq);
        pane.send(arrow ? `\x1b${pane.term.modes.applicationCursorKeysMode ? 'O' : '['}${seq}` : seq);
        pane.focus();
    }

    #stick(name: 'ctrl' | 'alt'): void {
        const pane = this.#pane();
        if (!pane) return;
        pane.sticky[name] = !pane.sticky[name];
        pane.onSticky = () => this.show();
        this.show();
        pane.focus();
    }

    show(): void {
        const sticky = this.#pane()?.sticky;
        this.#ctrl.setAttribute('aria-pressed', String(sticky?.ctrl ?? false));
        this.#alt.setAttribute('aria-pressed', String(sticky?.alt ?? false));
    }
}
