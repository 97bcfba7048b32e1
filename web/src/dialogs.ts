// SPDX-License-Identifier: Apache-2.0
//
// dialogs.ts - the dialogs: new terminal, rename, terminate, share, settings, and the sign-in form

import { type Process, Sandbox } from '@holdfast/sdk';
import { encode } from 'uqr';
import type { App } from './app.js';
import { base } from './base.js';
import { copyText, dialog, failed, h, icon, qrSvg, toast } from './dom.js';
import { type Settings, THEMES } from './settings.js';
import { nameOf } from './store.js';

const field = (label: string, input: HTMLElement, hint?: string) =>
    h('label', { class: 'field' }, h('span', {}, label), input, hint ? h('small', {}, hint) : null);

export function newTerminal(app: App, place: 'tab' | 'row' | 'column' = 'tab'): void {
    const command = h('input', { name: 'command', placeholder: 'login shell', autocomplete: 'off', spellcheck: false });
    const cwd = h('input', { name: 'cwd', placeholder: "the daemon's directory", autocomplete: 'off', spellcheck: false });
    const label = h('input', { name: 'label', placeholder: 'optional', autocomplete: 'off' });
    dialog('New terminal', (close) => [
        h(
            'form',
            {
                method: 'dialog',
                onsubmit: (e: Event) => {
                    e.preventDefault();
                    close();
                    void app.create({ command: command.value.trim() || undefined, cwd: cwd.value.trim() || undefined, label: label.value.trim() || undefined }, place);
                },
            },
            field('Command', command, 'A shell command, such as htop or npm run dev'),
            field('Directory', cwd),
            field('Name', label),
            h('footer', {}, h('button', { class: 'primary' }, 'Start')),
        ),
    ]);
    command.focus();
}

export function rename(app: App, id: string): void {
    const p = app.store.processes.get(id);
    const input = h('input', { value: p?.label ?? '', placeholder: nameOf(p), maxLength: 200 });
    dialog('Rename', (close) => [
        h(
            'form',
            {
                method: 'dialog',
                onsubmit: (e: Event) => {
                    e.preventDefault();
                    close();
                    app.store.handle(id).then((t) => t.update({ label: input.value.trim() || null })).then((s) => app.store.learn(s)).catch(failed('Could not rename'));
                },
            },
            field('Name', input, 'Leave empty to use the title that the program sets'),
            h('footer', {}, h('button', { class: 'primary' }, 'Rename')),
        ),
    ]);
    input.select();
}

export function confirmEnd(app: App, id: string): void {
    const p = app.store.processes.get(id);
    dialog(`${p?.running ? 'Terminate' : 'Delete'} ${nameOf(p)}?`, (close) => [
        h('p', {}, p?.running ? 'The process and all its children receive SIGTERM, and SIGKILL after five seconds. The record and the output are deleted.' : 'The record and the output of this process are deleted.'),
        h(
            'footer',
            {},
            h('button', { type: 'button', onclick: close }, 'Cancel'),
            h('button', { type: 'button', class: 'danger', onclick: () => {
                close();
                app.store.handle(id).then((t) => t.remove()).then((r) => {
                    if (r.survivors.length) toast(`Still running: ${r.survivors.map((s) => s.command).join(', ')}`, 'bad');
                    app.closeAll(id);
                }).catch(failed(p?.running ? 'Could not terminate' : 'Could not delete'));
            } }, p?.running ? 'Terminate' : 'Delete'),
        ),
    ]);
}

function linkView(url: string, note: string): HTMLElement {
    const input = h('input', { value: url, readOnly: true, 'aria-label': 'Link', class: 'link', onfocus: (e: Event) => (e.target as HTMLInputElement).select() });
    const copy = h('button', { type: 'button', class: 'primary', onclick: () => void copyText(url).then(() => toast('Copied')) }, 'Copy');
    return h('div', { class: 'share-result' }, qrSvg(encode(url, { border: 2 }).data), h('div', {}, h('div', { class: 'link-row' }, input, copy), h('p', { class: 'hint' }, note)));
}

const HOUR = 3_600_000;
/** The daemon does not know a gateway's path prefix, so we prepend it to the paths it returns. */
const fromHere = (url: string) => (url.startsWith('/') ? base + url : url);
/** A daemon without share links still has tickets, which sign in one browser within one minute. */
async function makeLink(app: App, t: Process, role: string, ms: number): Promise<HTMLElement> {
    if (app.store.features.links) {
        const link = await t.links.create({ role: role as 'watch', expiresInMs: ms });
        const end = new Date(Date.now() + ms).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
        return linkView(fromHere(String(link.url)), `Valid for this terminal only, until ${end}. Anyone with the link can ${role === 'type' ? 'watch and type' : 'watch'}.`);
    }
    const ticket = await app.store.sandbox.ticket({ role: role as 'watch' });
    return linkView(`${ticket.url}#${t.id}`, 'The link works once, within one minute. It opens the whole page with this role.');
}

export function share(app: App, id: string): void {
    const role = h('select', {}, h('option', { value: 'watch' }, 'watch'), h('option', { value: 'type' }, 'watch and type'));
    const end = h('select', {}, h('option', { value: String(HOUR) }, '1 hour'), h('option', { value: String(24 * HOUR) }, '1 day'), h('option', { value: String(168 * HOUR) }, '1 week'), h('option', { value: '60000' }, '1 minute'));
    const result = h('div', { 'aria-live': 'polite' });
    const existing = h('ul', { class: 'links' });
    const listLinks = async (t: Process) => {
        const links = await t.links.list();
        existing.replaceChildren(
            ...links.map((l) =>
                h('li', {}, h('span', {}, `${String(l.role)} · until ${new Date(String(l.expiresAt)).toLocaleString([], { dateStyle: 'short', timeStyle: 'short' })} · uses: ${String(l.uses)}`),
                    h('button', { type: 'button', class: 'quiet', onclick: () => t.links.revoke(String(l.id)).then(() => listLinks(t)).catch(failed('Could not revoke the link')) }, 'Revoke'))),
        );
    };
    const make = async () => {
        const t = await app.store.handle(id);
        result.replaceChildren(await makeLink(app, t, role.value, Number(end.value)));
        if (app.store.features.links) await listLinks(t);
    };
    dialog(`Share ${nameOf(app.store.processes.get(id))}`, () => [
        h('div', { class: 'inline-fields' }, field('Others can', role), app.store.features.links ? field('Expires after', end) : null,
            h('button', { type: 'button', class: 'primary', onclick: () => void make().catch(failed('Could not create a link')) }, icon('share'), 'Create link')),
        result,
        existing,
    ], { class: 'wide' });
    if (app.store.features.links) void app.store.handle(id).then(listLinks).catch(() => undefined);
}

export function settings(app: App): void {
    const s: Settings = app.settings;
    const set = <K extends keyof Settings>(key: K, value: Settings[K]) => app.applySettings({ ...app.settings, [key]: value });
    const swatch = (id: string) => {
        const theme = THEMES[id]!;
        const el = h('button', { type: 'button', class: 'swatch', 'aria-pressed': String(s.theme === id), onclick: () => {
            set('theme', id);
            el.parentElement!.querySelectorAll('.swatch').forEach((b) => b.setAttribute('aria-pressed', String(b === el)));
        } }, h('i', {}, 'Aa'), theme.title);
        const sample = el.firstElementChild as HTMLElement;
        sample.style.background = theme.xterm.background!;
        sample.style.color = theme.xterm.cursor!;
        return el;
    };
    dialog('Settings', () => [
        h('div', { class: 'swatches', role: 'group', 'aria-label': 'Theme' }, ...Object.keys(THEMES).map(swatch)),
        field('Font size', h('input', { type: 'range', min: '9', max: '28', value: String(s.fontSize), oninput: (e: Event) => set('fontSize', Number((e.target as HTMLInputElement).value)) })),
        field('Font', h('input', { value: s.fontFamily, spellcheck: false, onchange: (e: Event) => set('fontFamily', (e.target as HTMLInputElement).value) })),
        field('Cursor', h('select', { onchange: (e: Event) => set('cursor', (e.target as HTMLSelectElement).value as Settings['cursor']) },
            ...(['block', 'bar', 'underline'] as const).map((c) => h('option', { value: c, selected: s.cursor === c }, c)))),
        field('Your name', h('input', { value: s.name, maxLength: 24, placeholder: 'browser', onchange: (e: Event) => set('name', (e.target as HTMLInputElement).value) }), 'Shown to other viewers of the same terminal'),
        h('label', { class: 'check' }, h('input', { type: 'checkbox', checked: s.screenReader, onchange: (e: Event) => set('screenReader', (e.target as HTMLInputElement).checked) }), 'Make the output available to screen readers'),
        h('p', { class: 'hint' }, `holdfast ${app.store.version}`),
    ]);
}

/** Signs in without a cookie: the token buys a ticket and the ticket sets the cookie, so the token is not stored. */
export function signIn(reason: string): HTMLElement {
    const token = h('input', { type: 'password', autocomplete: 'current-password', 'aria-label': 'Token', placeholder: 'Token' });
    const note = h('p', { class: 'hint', role: 'alert' }, reason);
    return h(
        'main',
        { class: 'sign-in' },
        h('form', {
            class: 'card',
            onsubmit: (e: Event) => {
                e.preventDefault();
                new Sandbox({ url: base, token: token.value.trim() }).ticket().then(
                    (t) => location.assign(fromHere(String(t.url)) + location.hash),
                    (err: Error) => (note.textContent = err.message),
                );
            },
        }, h('h1', {}, 'holdfast'), h('p', {}, "Enter the daemon's token to continue."), token, h('button', { class: 'primary' }, 'Sign in'), note),
    );
}
