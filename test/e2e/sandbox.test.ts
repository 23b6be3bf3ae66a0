import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { openBrowser } from '../support/browser.ts';
import { chromium, describeWith } from '../support/needs.ts';
import { type Running, start } from '../support/process.ts';

let running: Running[] = [];

afterEach(async () => {
  for (const { child, ended } of running) {
    child.kill('SIGKILL');
    await ended;
  }
  running = [];
});

function command(env: Record<string, string>): Running {
  const started = start(process.execPath, ['dist/main.js', 'sandbox'], { cwd: '.', env });
  running.push(started);
  return started;
}

const FREE = { SANDBOX_LINKS_PORT: '0', SANDBOX_MARKET_PORT: '0' };

describe('the sandbox command', () => {
  it('prints addresses and keys, and two curl lines that work', async () => {
    const sandbox = command(FREE);
    await sandbox.says(/^curl '.*$/m);
    const lines = sandbox.output().match(/^curl .*$/gm) ?? [];
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      const [, url = ''] = /(http:\/\/[^\s']+)/.exec(line) ?? [];
      const [, key] = /Authorization: (Bearer \w+)/.exec(line) ?? [];
      const response = await fetch(url, key ? { headers: { authorization: key } } : {});
      expect(response.status).toBe(200);
      expect(sandbox.output()).toContain(new URL(url).origin);
    }
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('stops on %s', async (signal) => {
    const sandbox = command(FREE);
    await sandbox.says(/^curl '/m);
    sandbox.child.kill(signal);
    expect(await sandbox.ended).toBe(0);
  });

  it('ends with one line when a port is in use or is none', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => {
      other.listen(0, '127.0.0.1', resolve);
    });
    const { port } = other.address() as { port: number };
    const busy = command({ ...FREE, SANDBOX_MARKET_PORT: String(port) });
    expect(await busy.ended).toBe(1);
    expect(busy.output()).toBe(`The sandbox cannot start: port ${port} is in use.\n`);
    other.close();
    const wrong = command({ ...FREE, SANDBOX_LINKS_PORT: 'http' });
    expect(await wrong.ended).toBe(1);
    expect(wrong.output()).toMatch(/^The sandbox cannot start: .*SANDBOX_LINKS_PORT.*\n$/);
  });
});

describeWith(chromium, 'what the sandbox command has to look at and to listen to', () => {
  it('is shown and played by a browser', async () => {
    const sandbox = command(FREE);
    const [, item = '', key = ''] = await sandbox.says(
      /^curl '(\S+)\/api\/account\/details\?api_key=(\w+)'/m,
    );
    const reply = await fetch(`${item}/api/items/all?api_key=${key}`);
    const urls = [...new Set((await reply.text()).match(/http:[^"]*\.(?:mp4|wav|svg)/g))];
    const browser = await openBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(`${item}/`);
      const played = (name: 'audio' | 'video', source: string) =>
        page.evaluate(
          async ([tag, src]) => {
            const element = Object.assign(document.createElement(tag), { src, muted: true });
            await element.play();
            const size = 'videoWidth' in element ? [element.videoWidth, element.videoHeight] : [];
            return [element.duration, ...size];
          },
          [name, source] as const,
        );
      const ending = (end: string) => urls.find((url) => url.endsWith(end)) ?? '';
      expect(await played('video', ending('.mp4'))).toEqual([2, 128, 96]);
      expect(await played('audio', ending('.wav'))).toEqual([0.45]);
      const picture = await page.evaluate(async (src) => {
        const image = Object.assign(new Image(), { src });
        await image.decode();
        return image.naturalWidth;
      }, ending('.svg'));
      expect(picture).toBeGreaterThan(100);
    } finally {
      await browser.close();
    }
  });
});
