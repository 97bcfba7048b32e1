// SPDX-License-Identifier: Apache-2.0
//
// menu.ts - the popup menu of a button, and the command palette; both work with the keyboard alone

import { dialog, h } from './dom.js';

export interface Command {
    title: string;
    hint?: string;
    danger?: boolean;
    run: () => void;
}

export function popup(at: HTMLElement, label: string, commands: Command[]): void {
    const box = at.getBoundingClientRect();
    const close = () => {
        menu.remove();
        document.removeEventListener('pointerdown', outside, true);
    };
    const outside = (e: Event) => !menu.contains(e.target as Node) && close();
    const items = commands.map((c) =>
        h('button', { type: 'button', role: 'menuitem', class: c.danger ? 'danger-text' : '', onclick: () => {
            close();
            c.run();
        } }, c.title, c.hint ? h('kbd', {}, c.hint) : null));
    const move = (e: KeyboardEvent) => {
        const i = items.indexOf(document.activeElement as HTMLButtonElement);
        if (e.key === 'ArrowDown') items[(i + 1) % items.length]!.focus();
        else if (e.key === 'ArrowUp') items[(i - 1 + items.length) % items.length]!.focus();
        else if (e.key === 'Escape' || e.key === 'Tab') {
            close();
            at.focus();
        } else return;
        e.preventDefault();
        e.stopPropagation();
    };
    const menu = h('div', { class: 'menu', role: 'menu', 'aria-label': label, onkeydown: move }, ...items);
    document.body.append(menu);
    menu.style.top = `${Math.min(box.bottom + 4, innerHeight - menu.offsetHeight - 8)}px`;
    menu.style.left = `${Math.max(8, Math.min(box.left, innerWidth - menu.offsetWidth - 8))}px`;
    document.addEventListener('pointerdown', outside, true);
    items[0]?.focus();
}

export function palette(commands: Command[]): void {
    let shown = commands;
    let at = 0;
    const list = h('ul', { role: 'listbox', id: 'palette-list', 'aria-label': 'Commands' });
    const input = h('input', { role: 'combobox', 'aria-controls': 'palette-list', 'aria-expanded': 'true', placeholder: 'Type a command or a terminal name', 'aria-label': 'Command' });
    let close = () => {};
    const pick = (c: Command | undefined) => {
        close();
        c?.run();
    };
    const draw = () => {
        list.replaceChildren(...shown.slice(0, 50).map((c, i) => h('li', { role: 'option', id: `palette-${i}`, 'aria-selected': String(i === at), onclick: () => pick(c) }, c.title, c.hint ? h('kbd', {}, c.hint) : null)));
        input.setAttribute('aria-activedescendant', `palette-${at}`);
        list.children[at]?.scrollIntoView({ block: 'nearest' });
    };
    input.addEventListener('input', () => {
        const words = input.value.toLowerCase().split(/\s+/);
        shown = commands.filter((c) => words.every((w) => c.title.toLowerCase().includes(w)));
        at = 0;
        draw();
    });
    input.addEventListener('keydown', (e) => {
        if (e.key === 'ArrowDown') at = Math.min(at + 1, shown.length - 1);
        else if (e.key === 'ArrowUp') at = Math.max(at - 1, 0);
        else if (e.key === 'Enter') return pick(shown[at]);
        else return;
        e.preventDefault();
        draw();
    });
    dialog('Commands', (c) => {
        close = c;
        return [input, list];
    }, { class: 'palette' });
    draw();
    input.focus();
}
