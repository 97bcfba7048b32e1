// SPDX-License-Identifier: Apache-2.0
//
// dom.ts - DOM helpers without a framework, and the icons

type Child = Node | string | null | undefined | false;
type Props = Record<string, unknown>;

/** Creates an element. `on…` props are listeners; `class`, `aria-…` and `data-…` are attributes; the rest are properties. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
    const el = document.createElement(tag);
    for (const [name, value] of Object.entries(props)) {
        if (value === undefined || value === null || value === false) continue;
        if (name.startsWith('on')) el.addEventListener(name.slice(2), value as EventListener);
        else if (name === 'class' || name === 'role' || name === 'for' || name.includes('-')) el.setAttribute(name, String(value));
        else (el as unknown as Props)[name] = value;
    }
    el.append(...children.filter((c): c is Node | string => c !== null && c !== undefined && c !== false));
    return el;
}

const SVG = 'http://www.w3.org/2000/svg';
const ICONS: Record<string, string> = {
    logo: 'M12 3.5c3.4 3-3.4 5.4 0 8.6s-3.4 4.9 0 8.4M7 20.5c.8-3.2 3-4 5-4s4.2.8 5 4',
    plus: 'M12 5v14M5 12h14',
    close: 'M6 6l12 12M18 6L6 18',
    splitRight: 'M4 5h16v14H4zM12 5v14',
    splitDown: 'M4 5h16v14H4zM4 12h16',
    search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4 4',
    share: 'M12 15V4M8 8l4-4 4 4M5 13v6h14v-6',
    record: 'M12 5a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM12 9.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z',
    lock: 'M7 11V8a5 5 0 0 1 10 0v3M6 11h12v9H6z',
    unlock: 'M7 11V8a5 5 0 0 1 9.6-2M6 11h12v9H6z',
    signal: 'M13 3L5 14h6l-1 7 9-12h-6z',
    menu: 'M4 7h16M4 12h16M4 17h16',
    gear: 'M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM12 3v3M12 18v3M3 12h3M18 12h3M5.6 5.6l2.2 2.2M16.2 16.2l2.2 2.2M5.6 18.4l2.2-2.2M16.2 7.8l2.2-2.2',
    edit: 'M4 20l1-4L16 5l3 3L8 19z',
    play: 'M7 5l12 7-12 7z',
    pause: 'M8 5v14M16 5v14',
    eye: 'M2 12s4-7 10-7 10 7 10 7-4 7-10 7S2 12 2 12zM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z',
    download: 'M12 4v11M8 11l4 4 4-4M5 19h14',
    up: 'M6 15l6-6 6 6',
    down: 'M6 9l6 6 6-6',
    again: 'M20 11a8 8 0 1 0-2 6M20 5v6h-6',
    more: 'M5 12h.01M12 12h.01M19 12h.01',
};

export function icon(name: string): SVGSVGElement {
    const svg = document.createElementNS(SVG, 'svg');
    svg.setAttribute('viewBox', '0 0 24 24');
    svg.setAttribute('aria-hidden', 'true');
    svg.classList.add('icon');
    const path = document.createElementNS(SVG, 'path');
    path.setAttribute('d', ICONS[name] ?? '');
    svg.append(path);
    return svg;
}

/** A button with only an icon; its label is shown as a tooltip and read by screen readers. */
export function iconButton(name: string, label: string, onclick: (e: MouseEvent) => void, props: Props = {}): HTMLButtonElement {
    return h('button', { type: 'button', class: 'icon-button', title: label, 'aria-label': label, onclick, ...props }, icon(name));
}

/** Draws the matrix of a QR code as one path. */
export function qrSvg(matrix: boolean[][]): SVGSVGElement {
    const svg = document.createElementNS(SVG, 'svg');
    svg.setAttribute('viewBox', `0 0 ${matrix.length} ${matrix.length}`);
    svg.setAttribute('role', 'img');
    svg.setAttribute('aria-label', 'QR code of the link');
    svg.classList.add('qr');
    const path = document.createElementNS(SVG, 'path');
    path.setAttribute('d', matrix.flatMap((row, y) => row.flatMap((on, x) => (on ? [`M${x} ${y}h1v1h-1z`] : []))).join(''));
    svg.append(path);
    return svg;
}

/** Opens a modal dialog. `close`, Escape and a click outside it close it. */
export function dialog(title: string, body: (close: () => void) => Child[], props: { class?: string; onclose?: () => void } = {}): HTMLDialogElement {
    const el = h('dialog', { class: `dialog ${props.class ?? ''}`, 'aria-label': title });
    const close = () => el.close();
    el.append(
        h('header', {}, h('h2', {}, title), iconButton('close', 'Close', close)),
        ...body(close).filter((c): c is Node | string => Boolean(c)),
    );
    el.addEventListener('click', (e) => e.target === el && close());
    el.addEventListener('close', () => {
        el.remove();
        props.onclose?.();
    });
    document.body.append(el);
    el.showModal();
    return el;
}

let live: HTMLElement | undefined;
/** Shows a message for a few seconds and announces it to screen readers. */
export function toast(text: string, kind: 'info' | 'bad' = 'info'): void {
    live ??= document.body.appendChild(h('div', { class: 'toasts', role: 'status', 'aria-live': 'polite' }));
    // A modal dialog makes everything outside it inert, so the message is shown inside the dialog.
    (document.querySelector('dialog[open]') ?? document.body).append(live);
    const item = h('div', { class: `toast ${kind}` }, text);
    live.append(item);
    setTimeout(() => item.remove(), kind === 'bad' ? 8000 : 4000);
}

export const failed = (what: string) => (err: unknown) => toast(`${what}: ${(err as Error).message}`, 'bad');

export async function copyText(text: string): Promise<void> {
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        // Pages loaded by plain http from another machine have no clipboard API; execCommand still works.
        const area = h('textarea', { value: text, class: 'off-screen' });
        (document.querySelector('dialog[open]') ?? document.body).append(area);
        area.select();
        document.execCommand('copy');
        area.remove();
    }
}
