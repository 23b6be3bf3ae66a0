import { expect, it } from 'vitest';
import { chromium, describeWith } from '../support/needs.ts';
import { start } from '../support/process.ts';
import { openBrowser } from './browser.ts';

describeWith(chromium, 'what the sandbox command has to look at and to listen to', () => {
  it('is shown and played by a browser', async () => {
    const args = ['dist/main.js', 'sandbox', '--links-port', '0', '--market-port', '0'];
    const sandbox = start(process.execPath, args, { cwd: '.', env: {} });
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
      sandbox.child.kill('SIGKILL');
      await sandbox.ended;
    }
  });
});
