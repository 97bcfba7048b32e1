// SPDX-License-Identifier: Apache-2.0
//
// styles.ts - makes xterm's style sheets work under our Content-Security-Policy
//
// xterm writes the rules of each terminal into <style> elements, which the policy
// blocks. Style sheets that a script constructs are allowed, so we back each such
// element with a constructed sheet.

function backed(el: HTMLStyleElement): HTMLStyleElement {
    const sheet = new CSSStyleSheet();
    let text = '';
    let shown = false;
    const show = (on: boolean) => {
        if (on === shown) return;
        shown = on;
        const others = document.adoptedStyleSheets.filter((s) => s !== sheet);
        document.adoptedStyleSheets = on ? [...others, sheet] : others;
    };
    const set = (value: string | null) => {
        text = value ?? '';
        sheet.replaceSync(text);
        show(text !== '');
    };
    Object.defineProperty(el, 'textContent', { get: () => text, set });
    Object.defineProperty(el, 'remove', {
        value: () => {
            show(false);
            Element.prototype.remove.call(el);
        },
    });
    return el;
}

export function allowOwnStyles(): void {
    const create = Document.prototype.createElement;
    Document.prototype.createElement = function (this: Document, name: string, options?: ElementCreationOptions) {
        const el = create.call(this, name, options);
        return el instanceof HTMLStyleElement ? backed(el) : el;
    } as typeof document.createElement;
}
