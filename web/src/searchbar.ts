// SPDX-License-Identifier: Apache-2.0
//
// searchbar.ts - find in the scrollback

import type { ISearchOptions, SearchAddon } from '@xterm/addon-search';
import { h, iconButton } from './dom.js';

const DECORATIONS = {
    matchBackground: '#8a6d1d',
    matchOverviewRuler: '#e5b95c',
    activeMatchBackground: '#e5b95c',
    activeMatchColorOverviewRuler: '#ffffff',
};

export class SearchBar {
    readonly el: HTMLElement;
    readonly #search: SearchAddon;
    readonly #leave: () => void;
    readonly #input: HTMLInputElement;
    readonly #count = h('output', { class: 'count', 'aria-live': 'polite' });
    readonly #options: ISearchOptions = { decorations: DECORATIONS };

    constructor(search: SearchAddon, leave: () => void) {
        this.#search = search;
        this.#leave = leave;
        this.#input = h('input', {
            type: 'search',
            placeholder: 'Find in the output',
            'aria-label': 'Find in the output',
            oninput: () => this.#find(true),
            onkeydown: (e: KeyboardEvent) => this.#key(e),
        });
        const flag = (text: string, title: string, name: 'caseSensitive' | 'regex') =>
            h('button', { type: 'button', class: 'flag', title, 'aria-label': title, 'aria-pressed': 'false', onclick: (e: MouseEvent) => {
                this.#options[name] = !this.#options[name];
                (e.currentTarget as HTMLElement).setAttribute('aria-pressed', String(this.#options[name]));
                this.#find(true);
            } }, text);
        this.el = h(
            'div',
            { class: 'search-bar', role: 'search', hidden: true },
            this.#input,
            this.#count,
            flag('Aa', 'Match case', 'caseSensitive'),
            flag('.*', 'Regular expression', 'regex'),
            iconButton('up', 'Previous (Shift+Enter)', () => this.#find(false, true)),
            iconButton('down', 'Next (Enter)', () => this.#find(false)),
            iconButton('close', 'Close (Escape)', () => this.close()),
        );
        search.onDidChangeResults(({ resultIndex, resultCount }) => {
            this.#count.textContent = this.#input.value ? (resultCount ? `${resultIndex + 1} of ${resultCount}` : 'no matches') : '';
        });
    }

    #key(e: KeyboardEvent): void {
        if (e.key === 'Escape') this.close();
        else if (e.key === 'Enter') this.#find(false, e.shiftKey);
    }

    #find(incremental: boolean, back = false): void {
        try {
            if (back) this.#search.findPrevious(this.#input.value, this.#options);
            else this.#search.findNext(this.#input.value, { ...this.#options, incremental });
        } catch {
            this.#count.textContent = 'invalid expression';
        }
    }

    open(text: string): void {
        this.el.hidden = false;
        if (text && !text.includes('\n')) this.#input.value = text;
        this.#input.focus();
        this.#input.select();
    }

    close(): void {
        this.el.hidden = true;
        this.#search.clearDecorations();
        this.#leave();
    }
}
