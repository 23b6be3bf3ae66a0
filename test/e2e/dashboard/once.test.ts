import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { tempFolder } from '../../support/folder.ts';
import { chromium, dashboardPackages, describeWith } from '../../support/needs.ts';
import { findingsOf } from '../axe.ts';
import { type DashboardWorld, hold, startDashboard, wholeView } from './dashboard-world.ts';

const ADD = '/api/campaign/add';
const CHECKING = /^Checking whether/;

describeWith([chromium, dashboardPackages], 'what a person does once on the dashboard', () => {
  let world: DashboardWorld;
  let page: Page;
  let network: CDPSession;
  const folder = tempFolder();

  beforeAll(async () => {
    world = await startDashboard({
      // Longer than a look at the page takes while a request is held.
      env: { LINKS_TIMEOUT_MS: '6000' },
    });
    page = await world.open();
    await wholeView(page);
    network = await page.context().newCDPSession(page);
    // A request that begins under conditions is ended by others.
    await online(true);
  });
  afterAll(() => world?.close());

  const online = (isOnline: boolean) =>
    network.send('Network.emulateNetworkConditions', {
      offline: !isOnline,
      latency: 1,
      downloadThroughput: -1,
      uploadThroughput: -1,
    });
  const form = () => page.getByRole('form', { name: 'New campaign' });
  const press = () => form().getByRole('button').last().click();

  async function fill(name: string): Promise<void> {
    await page.getByLabel('Name', { exact: true }).fill(name);
  }

  /** Requests to the API that write to a path. */
  const writes = (path: string) =>
    world.sandbox.links.requests.filter((each) => each.path === path && each.method === 'POST');

  /** Waits for the sentence of success, and expects one row with the id that it states. */
  async function expectOne(name: string): Promise<void> {
    const done = form().getByText(`Campaign “${name}” created. Its id is`);
    await done.waitFor();
    const [, shown] = /Its id is (\S+)\.$/.exec((await done.textContent()) ?? '') ?? [];
    const { data } = await world.ask('{ campaigns(first: 100) { nodes { id name } } }');
    const { nodes } = (data as { campaigns: { nodes: { id: string; name: string }[] } }).campaigns;
    expect(nodes.filter((each) => each.name === name)).toEqual([{ id: shown, name }]);
    const row = page.getByRole('list', { name: 'Campaigns' }).getByText(name, { exact: true });
    expect(await row.count()).toBe(1);
    expect(await page.locator('.draft').count()).toBe(0);
  }

  it('is one campaign if the form is submitted twice', async () => {
    await fill('Pressed twice');
    const before = writes(ADD).length;
    await page.evaluate(() => {
      const twice = document.querySelector<HTMLFormElement>('form[aria-label="New campaign"]');
      twice?.requestSubmit();
      twice?.requestSubmit();
    });
    await expectOne('Pressed twice');
    expect(writes(ADD).length - before).toBe(1);
  });

  it('is one campaign if it is decided offline', async () => {
    await fill('In a tunnel');
    await online(false);
    await press();
    await form().getByText('You are offline. Sending when you are online.').waitFor();
    await page.getByRole('list', { name: 'Campaigns' }).getByText('In a tunnel').waitFor();
    expect(await findingsOf(page)).toEqual([]);
    await online(true);
    await expectOne('In a tunnel');
  });

  it('is one campaign if the network is lost in the middle', async () => {
    const release = hold(world, { method: 'POST', path: ADD, times: 1 });
    const before = writes(ADD).length;
    await fill('Before the tunnel');
    await press();
    await expect.poll(() => writes(ADD).length).toBe(before + 1);
    await online(false);
    await form().getByText('You are offline. Sending again when you are online.').waitFor();
    release();
    await online(true);
    await expectOne('Before the tunnel');
    expect(writes(ADD).length - before).toBe(1);
  });

  it('is one campaign if the response of the API is lost after the change', async () => {
    world.sandbox.links.fault({ kind: 'drop', path: ADD, times: 1, applied: true });
    const before = writes(ADD).length;
    await fill('Lost response');
    await press();
    await expectOne('Lost response');
    expect(writes(ADD).length - before).toBe(1);
  });

  it('is one campaign if the page is loaded again in the middle', async () => {
    const release = hold(world, { method: 'POST', path: ADD, times: 1 });
    const before = writes(ADD).length;
    await fill('Reloaded');
    await page.getByLabel('Slug').fill('reloaded');
    await press();
    await expect.poll(() => writes(ADD).length).toBe(before + 1);
    await page.reload();
    await form().getByText(CHECKING).waitFor();
    expect(await page.getByLabel('Slug').inputValue()).toBe('reloaded');
    expect(await findingsOf(page)).toEqual([]);
    release();
    await expectOne('Reloaded');
    expect(await page.getByLabel('Slug').inputValue()).toBe('');
    expect(writes(ADD).length - before).toBe(1);
  });

  it('can be discarded before it is sent', async () => {
    await online(false);
    await fill('Thought better of it');
    await press();
    await form().getByRole('button', { name: 'Discard' }).click();
    await page.locator('.draft').waitFor({ state: 'detached' });
    await online(true);
    await page.reload();
    await wholeView(page);
    expect(await page.getByText('Thought better of it').count()).toBe(0);
  });

  const upload = () => page.getByRole('region', { name: 'Upload a file' });

  /** A file of this machine, which keeps its time when it is chosen again. */
  function fileOf(name: string): string {
    const path = join(folder, name);
    writeFileSync(path, Buffer.alloc(200_000, name));
    return path;
  }

  async function expectUploaded(name: string): Promise<void> {
    await upload().getByText(`${name} uploaded`).waitFor();
    const { data } = await world.ask(`{ files(search: "${name}", first: 10) { totalCount } }`);
    expect(data).toEqual({ files: { totalCount: 1 } });
  }

  it('is one file if the page is loaded again and the file is chosen again', async () => {
    const path = fileOf('reloaded.txt');
    const release = hold(world, { method: 'POST', path: /upload/, times: 1 });
    const before = world.sandbox.links.requests.length;
    await upload().getByLabel('File to upload').setInputFiles(path);
    await expect.poll(() => world.sandbox.links.requests.length).toBeGreaterThan(before);
    await page.reload();
    await upload().getByText('The upload of reloaded.txt was interrupted.').waitFor();
    expect(await findingsOf(page)).toEqual([]);
    await upload().getByLabel('File to upload').setInputFiles(path);
    release();
    await expectUploaded('reloaded.txt');
  });
});
