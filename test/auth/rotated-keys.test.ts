import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { tempFolder } from '../support/folder.ts';
import { LiveViewer } from '../support/live-viewer.ts';
import { until } from '../support/uploads.ts';

const folder = tempFolder();
const file = join(folder, 'links_api_key');

/** The time after which new content is in use. */
const NOTICED_MS = 2000;

let door: Door;
let keys: Door['sandbox']['links']['keys'];
beforeEach(async () => {
  // Known before any gateway runs: the keys of a sandbox are always the same.
  writeFileSync(file, 'not-read-yet');
  door = await openDoor({ AUTH_MODE: 'none', LINKS_API_KEY: '', LINKS_API_KEY_FILE: file });
  ({ keys } = door.sandbox.links);
  await rotateTo(keys.pro);
  door.sandbox.links.clearLog();
});

async function rotateTo(text: string): Promise<void> {
  writeFileSync(file, `${text}\n`);
  await door.clock.advance(NOTICED_MS);
}

const WHO = '{ account { id } }';
const who = async () => {
  const { code, data } = await door.ask(WHO);
  return code ?? (data as { readonly account: { readonly id: string } }).account.id;
};
/** The messages of the log, but for operations. */
const messages = () =>
  door
    .log()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => msg !== 'operation');

describe('a key in a file', () => {
  it('is replaced without a restart, in place, by another file, and behind a link', async () => {
    const pro = await who();
    await rotateTo(keys.admin);
    const admin = await who();
    writeFileSync(`${file}.new`, keys.pro);
    renameSync(`${file}.new`, file);
    await door.clock.advance(NOTICED_MS);
    expect(await who()).toBe(pro);
    const elsewhere = join(folder, 'version-2');
    writeFileSync(elsewhere, keys.admin);
    rmSync(file);
    symlinkSync(elsewhere, file);
    await door.clock.advance(NOTICED_MS);
    expect([await who(), pro === admin]).toEqual([admin, false]);
    rmSync(file);
  });

  it('is logged when it is replaced, without the key itself', async () => {
    await rotateTo(keys.admin);
    expect(messages().at(-1)).toMatchObject({
      level: 'info',
      msg: 'API key replaced',
      upstream: 'LINKS',
      setting: 'LINKS_API_KEY_FILE',
    });
    door.sandbox.links.fault({
      kind: 'answer',
      rewrite: () => ({ status: 200, headers: {}, body: { error: 0, data: { id: {} } } }),
    });
    await who();
    const all = [keys.pro, keys.admin];
    door.gateway.reportDefect(new Error(`a message with ${all.join(' and ')}`));
    expect(door.log()).toContain('a message with [secret] and [secret]');
    for (const key of all) expect(door.log()).not.toContain(key);
  });

  it.each([
    ['empty', '', 'it is empty'],
    ['blank', ' \n', 'it is empty'],
    ['broken', 'two words', 'it contains a space, a line break or a non-ASCII character'],
    ['too large', 'x'.repeat(65 * 1024), 'it is larger than 65536 bytes'],
  ])('that is %s leaves the previous key in use, with one warning', async (_, text, why) => {
    const before = await who();
    await rotateTo(text);
    await door.clock.advance(5 * NOTICED_MS);
    expect(await who()).toBe(before);
    const warnings = messages().filter(({ msg }) =>
      String(msg).includes('LINKS_API_KEY_FILE cannot'),
    );
    expect(warnings).toMatchObject([
      {
        level: 'warn',
        msg: `LINKS_API_KEY_FILE cannot be used: ${why}. The previous key stays in use.`,
      },
    ]);
    await rotateTo(keys.admin);
    expect(await who()).not.toBe(before);
  });

  it('that is being written is used only after it stops changing', async () => {
    const before = await who();
    writeFileSync(file, keys.admin.slice(0, 5));
    await door.clock.advance(1000);
    expect(await who()).toBe(before);
    await rotateTo(keys.pro);
    await door.clock.advance(60_000);
    expect(await who()).toBe(before);
    expect(door.log()).not.toContain('UPSTREAM_UNAUTHENTICATED');
  });

  it('never returns data of another key: cached, remembered, stale or watched', async () => {
    const viewer = await LiveViewer.begun(door.url, { query: `query W @live ${WHO}` });
    // Often enough to be answered from remembered bytes.
    const seen = new Set([await who(), await who(), await who(), await who()]);
    const [pro] = seen;
    expect(seen.size).toBe(1);
    await rotateTo(keys.admin);
    const after = new Set([await who(), await who(), await who(), await who()]);
    expect(after.size).toBe(1);
    expect(after).not.toEqual(seen);
    await viewer.until(
      ({ data }) => JSON.stringify(data) !== JSON.stringify({ account: { id: pro } }),
    );
    expect([...after]).toEqual([(viewer.data as { account: { id: string } }).account.id]);
    // Without a fresh response, an error is better than the data of another account.
    door.sandbox.links.fault({ kind: 'error-500' });
    await rotateTo(keys.pro);
    expect(await who()).toBe('UPSTREAM_UNAVAILABLE');
  });

  it('completes a request in flight with its key, and does not cache the response', async () => {
    let answer = (): void => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    door.sandbox.links.fault({ kind: 'hold', until: held, times: 1 });
    const before = who();
    await until(() => door.calls() === 1);
    await rotateTo(keys.admin);
    answer();
    const pro = await before;
    expect(pro).toMatch(/\w+/);
    const admin = await who();
    expect(admin).not.toBe(pro);
    expect(door.sandbox.links.requests).toHaveLength(2);
  });

  it('has its own window, whose requests still count when the key returns', async () => {
    const used = async () => {
      const { data } = await door.ask('{ rateLimit { used } }');
      return (data as { readonly rateLimit: { readonly used: number } }).rateLimit.used;
    };
    await who();
    await door.ask('{ plans { id } }');
    expect(await used()).toBe(2);
    await rotateTo(keys.admin);
    expect(await used()).toBe(0);
    await who();
    await rotateTo(keys.pro);
    expect(await used()).toBe(2);
  });
});
