import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Browser, openBrowser } from '../e2e/browser.ts';
import { servePage } from '../e2e/shown-page.ts';
import { type Door, openDoor } from '../support/door.ts';
import { chromium, describeWith } from '../support/needs.ts';
import { clientStage } from './support/client-stage.ts';

const stage = clientStage();

/** A page that sends a file of some bytes, and shows what it was told. */
const app = (gateway: string): string => `
import { useState } from 'react';
import { upload } from './upload.ts';

export default function App() {
  const [lines, setLines] = useState<string[]>([]);
  const add = (line: string) => setLines((all) => [...all, line]);
  const send = (name: string, bytes: number) =>
    upload('${gateway}', new File([new Uint8Array(bytes)], name), (share) => add('sent ' + share))
      .then(({ shortUrl }) => add('at ' + shortUrl), ({ message }) => add('refused: ' + message));
  return (
    <>
      <button onClick={() => send('a photo.png', 2_000_000)}>large</button>
      <button onClick={() => send('no extension', 10)}>wrong</button>
      {lines.map((line, at) => <p key={at}>{line}</p>)}
    </>
  );
}
`;

describeWith(chromium, 'the upload of docs/frontend-reference.md in a browser', () => {
  let door: Door;
  let page: Awaited<ReturnType<typeof servePage>>;
  let browser: Browser;
  let html = '';
  beforeAll(async () => {
    page = await servePage(() => html);
    door = await openDoor({ AUTH_MODE: 'none', CORS_ORIGINS: page.origin });
    stage.project.write('src/App.tsx', app(door.url));
    html = await stage.project.bundle();
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    page.server.close();
    await door.close();
  });

  it('reports how much has gone, up to all of it, and then where the file is', async () => {
    const tab = await browser.newPage();
    await tab.goto(page.origin);
    await tab.getByRole('button', { name: 'large' }).click();
    await tab.getByText(/^at http/).waitFor();
    const lines = await tab.locator('p').allTextContents();
    const shares = lines.slice(0, -1).map((line) => Number(line.replace('sent ', '')));
    expect(shares.length).toBeGreaterThan(0);
    expect(shares).toEqual(shares.toSorted((a, b) => a - b));
    expect(shares.at(-1)).toBe(1);
  });

  it('says why a file is refused', async () => {
    const tab = await browser.newPage();
    await tab.goto(page.origin);
    await tab.getByRole('button', { name: 'wrong' }).click();
    await tab.getByText(/^refused: .*extension/).waitFor();
  });
});
