// SPDX-License-Identifier: Apache-2.0
//
// sse.ts - server-sent events out of a stream of bytes

export interface ServerSentEvent {
    event: string;
    data: string;
    id: string | undefined;
}

/** The daemon says something every 15 s; who is silent for three of these is gone, whatever the system thinks. */
const SILENCE_MS = 45_000;

async function read(reader: ReadableStreamDefaultReader<Uint8Array>) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`nothing was heard for ${SILENCE_MS} ms`)), SILENCE_MS);
    });
    try {
        return await Promise.race([reader.read(), late]);
    } finally {
        clearTimeout(timer);
    }
}

/** Events as they come; ends with the stream, throws when it is cut or silent. */
export async function* serverSentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let rest = '';
    let event = '';
    let data: string[] = [];
    let id: string | undefined;
    try {
        for (;;) {
            const { done, value } = await read(reader);
            if (done) return;
            rest += decoder.decode(value, { stream: true });
            // A lone \r at the end may be the half of a \r\n that is still to come.
            const lines = rest.split(/\r\n|\n|\r(?!$)/);
            rest = lines.pop() ?? '';
            for (const line of lines) {
                if (line === '') {
                    if (data.length > 0) yield { event: event || 'message', data: data.join('\n'), id };
                    event = '';
                    data = [];
                    continue;
                }
                const colon = line.indexOf(':');
                const name = colon < 0 ? line : line.slice(0, colon);
                const text = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
                if (name === 'event') event = text;
                else if (name === 'data') data.push(text);
                else if (name === 'id') id = text;
            }
        }
    } finally {
        await reader.cancel().catch(() => undefined);
    }
}
