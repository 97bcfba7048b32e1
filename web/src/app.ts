// SPDX-License-Identifier: Apache-2.0
//
// app.ts - tabs, panes and the commands on them
//
// A tab is a row or a column of panes; a pane is one view of one process. The open
// tabs are kept in sessionStorage, so a reload restores them.

import { fromHash } from './base.js';
import * as dialogs from './dialogs.js';
import { failed, h, icon, iconButton, toast } from './dom.js';
import { KeyBar } from './keybar.js';
import { List } from './list.js';
import { type Command, palette, popup } from './menu.js';
import { Pane } from './pane.js';
import { playOr } from './player.js';
import { loadSettings, saveSettings, type Settings, THEMES } from './settings.js';
import { nameOf, type Store } from './store.js';

interface Tab {
    panes: Pane[];
    direction: 'row' | 'column';
    button: HTMLElement;
    view: HTMLElement;
    last: Pane | undefined;
}
type Place = 'tab' | 'row' | 'column';
interface Saved {
    tabs: { panes: { id: string; ro: boolean }[]; direction: 'row' | 'column' }[];
    active: number;
}

const SAVED = 'holdfast.tabs';
const SIGNALS = ['INT', 'TERM', 'HUP', 'QUIT', 'TSTP', 'CONT', 'USR1', 'USR2', 'KILL'];

export class App {
    readonly store: Store;
    readonly el: HTMLElement;
    settings: Settings = loadSettings();
    readonly #tabs: Tab[] = [];
    readonly #tabBar = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Terminals' });
    readonly #views = h('main', { class: 'views' });
    readonly #keyBar = new KeyBar(() => this.current);
    readonly #welcome: HTMLElement;
    readonly #end = new AbortController();
    #list: List | undefined;
    #active: Tab | undefined;

    constructor(store: Store) {
        this.store = store;
        this.#welcome = this.#makeWelcome();
        this.#views.append(this.#welcome);
        const own = store.canOwn;
        this.el = h(
            'div',
            { class: `app${store.guest ? ' guest' : ''}` },
            h('header', { class: 'top' },
                !store.guest && iconButton('menu', 'Processes', () => this.el.classList.toggle('no-list')),
                h('span', { class: 'brand' }, h('i', {}, icon('logo')), h('span', {}, 'holdfast')),
                this.#tabBar,
                own && iconButton('plus', 'New terminal (Ctrl+Shift+T)', () => void this.create({}, 'tab'), { class: 'icon-button new' }),
                h('span', { class: 'space' }),
                store.role === 'watch' && h('span', { class: 'role' }, 'watching'),
                iconButton('gear', 'Settings', () => dialogs.settings(this)),
            ),
        );
        if (!store.guest) {
            this.#list = new List(this);
            const foot = own ? h('footer', {}, h('button', { type: 'button', class: 'primary', onclick: () => dialogs.newTerminal(this) }, 'New terminal …'), h('small', {}, 'Ctrl+Shift+P for all commands')) : null;
            this.el.append(h('aside', { class: 'side' }, this.#list.el, ...(foot ? [foot] : [])));
        }
        this.el.append(this.#views, this.#keyBar.el);
        if (matchMedia('(max-width: 720px)').matches) this.el.classList.add('no-list');
        this.applySettings(this.settings);
        const { signal } = this.#end;
        addEventListener('keydown', (e) => this.key(e) || e.preventDefault(), { signal });
        addEventListener('online', () => this.#tabs.forEach((t) => t.panes.forEach((p) => p.connection?.retryNow())), { signal });
        addEventListener('hashchange', () => this.#fromHash(), { signal });
        // Text drawn by WebGL is not in the DOM; tests read it through this function.
        (window as { holdfastText?: () => string }).holdfastText = () => this.#active?.panes.map((p) => p.text()).join('\n') ?? '';
    }

    #makeWelcome(): HTMLElement {
        const { store } = this;
        return h('div', { class: 'welcome' },
            h('div', { class: 'mark', 'aria-hidden': 'true' }, icon('logo')),
            h('h1', {}, 'Hold fast.'),
            h('p', {}, 'Your terminals keep running when you close this page, lose the connection or restart the daemon. Come back at any time and continue where you left off.'),
            store.canOwn ? h('button', { type: 'button', class: 'primary big', onclick: () => void this.create({}, 'tab') }, 'New terminal') : h('p', { class: 'hint' }, 'Choose a terminal from the list.'));
    }

    /** Call this once the element is on the page. */
    start(): void {
        const saved = this.#saved();
        for (const t of saved.tabs) {
            const known = t.panes.filter((p) => this.store.processes.has(p.id));
            known.forEach((p, i) => this.#add(p.id, i === 0 ? 'tab' : t.direction, p.ro));
        }
        const tab = this.#tabs[saved.active];
        if (tab) this.#activate(tab);
        this.#fromHash();
    }

    /** Releases the page. The saved list of open tabs is kept for the next sign-in. */
    stop(): void {
        this.#end.abort();
        document.querySelectorAll('dialog').forEach((d) => d.close());
        this.#tabs.forEach((t) => t.panes.forEach((p) => p.dispose()));
        document.title = 'holdfast';
    }

    #fromHash(): void {
        const id = fromHash();
        if (this.store.processes.has(id) && this.current?.id !== id) this.show(id);
    }

    // --- tabs and panes ---

    get current(): Pane | undefined {
        return this.#active?.last;
    }

    paneOf(id: string): Pane | undefined {
        return this.#tabs.flatMap((t) => t.panes).find((p) => p.id === id);
    }

    clientName(): string {
        const name = this.settings.name.replace(/[^\x21-\x7e]/g, '').slice(0, 24);
        const random = crypto.getRandomValues(new Uint32Array(2)).reduce((s, n) => s + n.toString(36), '');
        return name ? `${name}~${random}` : `web-${random}`;
    }

    /** The name that other viewers see. */
    viewerName(): string {
        return this.settings.name.replace(/[\0-\x1f\x7f]/g, '').slice(0, 24) || 'browser';
    }

    /** Shows the pane that has this process open, or opens it in a new tab. */
    show(id: string, readOnly = false): void {
        const tab = this.#tabs.find((t) => t.panes.some((p) => p.id === id));
        if (tab) {
            tab.last = tab.panes.find((p) => p.id === id);
            this.#activate(tab);
        } else {
            this.#add(id, 'tab', readOnly);
        }
        if (matchMedia('(max-width: 720px)').matches) this.el.classList.add('no-list');
    }

    #add(id: string, place: Place, readOnly = false): Pane {
        const pane = new Pane(this, id, readOnly);
        let tab = place === 'tab' ? undefined : this.#active;
        if (!tab) {
            tab = this.#makeTab();
        } else if (tab.panes.length === 1) {
            tab.direction = place === 'column' ? 'column' : 'row';
            tab.view.classList.toggle('column', tab.direction === 'column');
        }
        const after = tab.last?.el;
        tab.panes.splice(tab.last ? tab.panes.indexOf(tab.last) + 1 : 0, 0, pane);
        tab.last = pane;
        if (after) after.after(pane.el);
        else tab.view.append(pane.el);
        this.#activate(tab);
        pane.open();
        pane.focus();
        return pane;
    }

    #makeTab(): Tab {
        const tab: Tab = { panes: [], direction: 'row', last: undefined, view: h('div', { class: 'view', role: 'tabpanel' }), button: h('div', { class: 'tab', role: 'tab', tabIndex: 0 }) };
        tab.button.addEventListener('click', (e) => !(e.target as Element).closest('button') && this.#activate(tab));
        tab.button.addEventListener('auxclick', (e) => e.button === 1 && this.#closeTab(tab));
        tab.button.addEventListener('keydown', (e) => this.#tabKey(e, tab));
        this.#tabs.push(tab);
        this.#tabBar.append(tab.button);
        this.#views.append(tab.view);
        return tab;
    }

    #tabKey(e: KeyboardEvent, tab: Tab): void {
        const i = this.#tabs.indexOf(tab);
        const step = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
        const to = this.#tabs[(i + step + this.#tabs.length) % this.#tabs.length];
        if (step && to) {
            this.#activate(to);
            to.button.focus();
        } else if (e.key === 'Enter' || e.key === ' ') this.#activate(tab);
        else if (e.key === 'Delete') this.#closeTab(tab);
        else return;
        e.preventDefault();
    }

    #activate(tab: Tab): void {
        this.#active = tab;
        for (const t of this.#tabs) {
            t.view.hidden = t !== tab;
            t.button.setAttribute('aria-selected', String(t === tab));
        }
        this.#welcome.hidden = true;
        this.#changed();
        tab.last?.fit();
        if (document.activeElement?.getAttribute('role') !== 'tab') tab.last?.focus();
        tab.button.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    }

    focused(pane: Pane): void {
        const tab = this.#tabs.find((t) => t.panes.includes(pane));
        if (!tab || (tab.last === pane && tab === this.#active)) return;
        tab.last = pane;
        this.#changed();
    }

    closePane(pane: Pane): void {
        const tab = this.#tabs.find((t) => t.panes.includes(pane));
        if (!tab) return;
        if (tab.panes.length === 1) {
            this.#closeTab(tab);
            return;
        }
        tab.panes.splice(tab.panes.indexOf(pane), 1);
        pane.dispose();
        tab.last = tab.panes.at(-1);
        this.#activate(tab);
    }

    #closeTab(tab: Tab): void {
        const i = this.#tabs.indexOf(tab);
        tab.panes.forEach((p) => p.dispose());
        this.#tabs.splice(i, 1);
        tab.button.remove();
        tab.view.remove();
        const next = this.#tabs[Math.min(i, this.#tabs.length - 1)];
        if (next) return this.#activate(next);
        this.#active = undefined;
        this.#welcome.hidden = false;
        this.#changed();
    }

    closeAll(id: string): void {
        for (let p = this.paneOf(id); p; p = this.paneOf(id)) this.closePane(p);
    }

    /** Updates tab names, badges, the window title, the address and the saved tabs. */
    #changed(): void {
        for (const tab of this.#tabs) {
            const p = this.store.processes.get(tab.last?.id ?? '') ?? tab.last?.status;
            const name = nameOf(p);
            tab.button.title = name;
            tab.button.replaceChildren(
                h('span', { class: `badge ${p?.running === false ? (p.exitCode === 0 ? 'ok' : 'bad') : 'run'}` }),
                h('span', { class: 'tab-name' }, tab.panes.length > 1 ? `${name} +${tab.panes.length - 1}` : name),
                iconButton('close', `Close ${name}`, () => this.#closeTab(tab), { tabIndex: -1 }),
            );
            for (const pane of tab.panes) pane.el.classList.toggle('active', pane === tab.last && tab.panes.length > 1);
        }
        const { current } = this;
        document.title = current ? `${nameOf(this.store.processes.get(current.id) ?? current.status)} – holdfast` : 'holdfast';
        history.replaceState(null, '', current ? `#${current.id}` : location.pathname);
        this.#keyBar.show();
        this.#list?.draw();
        this.#save();
    }

    described(): void {
        this.#tabs.forEach((t) => t.panes.forEach((p) => p.describe()));
        this.#changed();
    }

    #saved(): Saved {
        try {
            return { tabs: [], active: 0, ...(JSON.parse(sessionStorage.getItem(SAVED) ?? '{}') as Partial<Saved>) };
        } catch {
            return { tabs: [], active: 0 };
        }
    }

    #save(): void {
        const saved: Saved = {
            tabs: this.#tabs.map((t) => ({ direction: t.direction, panes: t.panes.map((p) => ({ id: p.id, ro: p.readOnly })) })),
            active: this.#active ? this.#tabs.indexOf(this.#active) : 0,
        };
        try {
            sessionStorage.setItem(SAVED, JSON.stringify(saved));
        } catch {
            // Without storage, a reload starts with no tabs.
        }
    }

    // --- commands ---

    async create(options: { command?: string; args?: string[]; cwd?: string; label?: string }, place: Place): Promise<void> {
        const near = this.current?.term;
        try {
            const t = await this.store.create({ ...options, rows: near?.rows ?? 24, cols: near?.cols ?? 80 });
            this.store.learn(t.current);
            this.#add(t.id, place);
        } catch (err) {
            failed('Could not start the terminal')(err);
        }
    }

    split(direction: 'row' | 'column'): void {
        void this.create({ cwd: this.current?.status?.cwd ?? undefined }, this.#active ? direction : 'tab');
    }

    again(pane: Pane): void {
        const p = pane.status;
        if (p) void this.create({ command: p.command, args: p.args, cwd: p.cwd ?? undefined, label: p.label ?? undefined }, 'tab');
    }

    share(pane: Pane): void {
        dialogs.share(this, pane.id);
    }

    play(pane: Pane): void {
        playOr(this, pane.id);
    }

    signal(id: string, signal: string): void {
        this.store.handle(id).then((t) => t.signal(signal)).then(() => toast(`Sent ${signal}`)).catch(failed('Could not send the signal'));
    }

    #commandsFor(id: string): Command[] {
        const p = this.store.processes.get(id);
        const own = this.store.canOwn;
        const running = p?.running === true;
        return [
            ...(own ? [{ title: 'Rename …', run: () => dialogs.rename(this, id) }] : []),
            { title: 'Watch in a new tab (read only)', run: () => void this.#add(id, 'tab', true) },
            ...(own ? [{ title: 'Share …', run: () => dialogs.share(this, id) }] : []),
            ...(this.store.features.recording ? [{ title: 'Play the recording …', run: () => playOr(this, id) }] : []),
            ...(running && this.store.role !== 'watch' ? SIGNALS.filter((s) => own || ['INT', 'TSTP'].includes(s)).map((s) => ({ title: `Send ${s}`, danger: s === 'KILL', run: () => this.signal(id, s) })) : []),
            ...(own ? [{ title: running ? 'Terminate …' : 'Delete …', danger: true, run: () => dialogs.confirmEnd(this, id) }] : []),
        ];
    }

    menu(pane: Pane, at: HTMLElement): void {
        popup(at, nameOf(pane.status), this.#commandsFor(pane.id));
    }

    menuOf(id: string, at: HTMLElement): void {
        popup(at, nameOf(this.store.processes.get(id)), this.#commandsFor(id));
    }

    #palette(): void {
        const { current } = this;
        const own = this.store.canOwn;
        palette([
            ...(own ? [
                { title: 'New terminal', hint: 'Ctrl+Shift+T', run: () => void this.create({}, 'tab') },
                { title: 'New terminal with a command …', run: () => dialogs.newTerminal(this) },
                { title: 'Split right', hint: 'Ctrl+Shift+E', run: () => this.split('row') },
                { title: 'Split down', hint: 'Ctrl+Shift+O', run: () => this.split('column') },
            ] : []),
            ...(current ? [{ title: 'Find in the output', hint: 'Ctrl+Shift+F', run: () => current.openSearch() }, ...this.#commandsFor(current.id)] : []),
            { title: 'Settings', run: () => dialogs.settings(this) },
            ...[...this.store.processes.values()].map((p) => ({ title: `Go to ${nameOf(p)}`, hint: p.running ? '' : 'ended', run: () => this.show(p.id) })),
        ]);
    }

    /** Handles the page's shortcuts. Returns false for a shortcut, which the terminal then does not receive. */
    key(e: KeyboardEvent, pane?: Pane): boolean {
        if (e.type !== 'keydown' || !e.ctrlKey || !e.shiftKey || e.altKey) return true;
        // The terminal and the window both deliver the event; handle it once.
        if (e.defaultPrevented) return false;
        const at = pane ?? this.current;
        switch (e.code) {
            case 'KeyP': this.#palette(); break;
            case 'KeyT': if (this.store.canOwn) void this.create({}, 'tab'); break;
            case 'KeyE': if (this.store.canOwn) this.split('row'); break;
            case 'KeyO': if (this.store.canOwn) this.split('column'); break;
            case 'KeyF': at?.openSearch(); break;
            case 'KeyC': if (!at?.term.hasSelection()) return true; void navigator.clipboard?.writeText(at.term.getSelection()); break;
            default: return true;
        }
        e.preventDefault();
        return false;
    }

    applySettings(s: Settings): void {
        this.settings = s;
        saveSettings(s);
        const theme = THEMES[s.theme] ?? THEMES.kelp!;
        document.documentElement.dataset.theme = s.theme;
        document.documentElement.style.setProperty('--terminal', theme.xterm.background!);
        this.#tabs.forEach((t) => t.panes.forEach((p) => p.apply()));
    }
}
