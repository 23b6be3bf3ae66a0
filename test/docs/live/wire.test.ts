import { describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../../support/door.ts';
import { tokenFile } from '../../support/folder.ts';
import { liveBlocks } from '../support/live-recipes.ts';

const block = (name: string): string => liveBlocks.get(name) ?? `no block ${name}`;

/** Without what differs from run to run: when to come back. */
function plain(text: string): string {
  return text.replace(/^retry: \d+$/gm, 'retry: N').trim();
}

/** The request of the page, with the credential of somebody or another `Accept`. */
function ask(url: string, headers: Record<string, string> = {}): Promise<Response> {
  const [head = '', body = ''] = block('request').split('\n\n');
  const [first = '', ...lines] = head.split('\n');
  const [method = '', path = ''] = first.split(' ');
  const written = Object.fromEntries(lines.map((line) => line.split(': ')));
  return fetch(url + path, { method, headers: { ...written, ...headers }, body });
}

/** Reads a stream piece by piece. */
function reader(response: Response): { event: () => Promise<string>; rest: () => Promise<string> } {
  const chunks = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let unread = '';
  const more = async (): Promise<boolean> => {
    const piece = await chunks?.read();
    unread += piece?.value ?? '';
    return piece?.done === false;
  };
  return {
    async event() {
      while (!unread.includes('\n\n') && (await more()));
      const [event = '', ...others] = unread.split('\n\n');
      unread = others.join('\n\n');
      return event;
    },
    async rest() {
      while (await more());
      return unread;
    },
  };
}

const rename = `mutation {
  updateCampaign(input: { id: 53, name: "Closing sale" }) { __typename }
}`;

describe('the wire of docs/live.md', () => {
  let door: Door;

  it('shows the events as they come, and what the log says', async () => {
    door = await openDoor({ AUTH_MODE: 'none' });
    const response = await ask(door.url);
    const [status = '', ...headers] = block('response').trim().split('\n');
    expect(status).toBe(`HTTP/1.1 ${response.status} OK`);
    for (const line of headers) {
      const [name = '', value] = line.split(': ');
      expect(response.headers.get(name), name).toBe(value);
    }
    const { event, rest } = reader(response);
    expect(plain(await event())).toBe(plain(block('next')));
    await door.ask(rename);
    expect(await event()).toMatch(/^event: next\n.*"Closing sale"/);
    await door.clock.advance(15_000);
    expect(plain(await event())).toBe(plain(block('age')));
    await door.gateway.close();
    expect(plain(await rest())).toBe(plain(block('stop')));

    const facts = (lines: string) =>
      lines
        .split('\n')
        .filter((line) => line.includes('live query'))
        .map((line) => {
          const { bytes, durationMs, requestId, time: _, ...stable } = JSON.parse(line);
          return { ...stable, numbers: [typeof bytes, typeof durationMs, typeof requestId] };
        });
    expect(facts(door.log())).toEqual(facts(block('log')));
  });

  it('shows the end for good of one who may not look any more', async () => {
    const expires = '2030-01-01T00:00:10Z';
    const file = tokenFile({ name: 'web', role: 'viewer', token: 'a-token', expires });
    door = await openDoor({ AUTH_MODE: 'token', AUTH_TOKENS_FILE: file });
    const { event, rest } = reader(await ask(door.url, { authorization: 'Bearer a-token' }));
    await event();
    await door.clock.advance(30_000);
    expect((await rest()).replace(/^event: age\n.*\n\n/gm, '').trim()).toBe(
      block('refused').trim(),
    );
  });

  it('says what comes to a client that reads no ages', async () => {
    door = await openDoor({ AUTH_MODE: 'none' });
    const { event, rest } = reader(await ask(door.url, { Accept: 'text/event-stream' }));
    expect(plain(await event())).toBe(plain(block('next')));
    await door.ask(rename);
    expect(await event()).toMatch(/^event: next\n.*"Closing sale"/);
    await door.clock.advance(15_000);
    expect(await event()).toBe(':');
    await door.gateway.close();
    expect(await rest()).toMatch(/^retry: \d+\n\n$/);
  });

  it('says that a stream is one too many', async () => {
    door = await openDoor({ AUTH_MODE: 'none', liveMaxStreamsPerCaller: '1' });
    await reader(await ask(door.url)).event();
    const accept = 'text/event-stream;live=age, application/json';
    const response = await ask(door.url, { Accept: accept });
    expect(response.status).toBe(429);
    expect(await response.json()).toMatchObject({
      errors: [{ extensions: { code: 'TOO_MANY_STREAMS', retryAfterMs: 15_000 } }],
    });
    // Without JSON in `Accept`, the same as one event.
    const event = await ask(door.url);
    expect(event.status).toBe(429);
    expect(await event.text()).toContain('"code":"TOO_MANY_STREAMS"');
  });
});
