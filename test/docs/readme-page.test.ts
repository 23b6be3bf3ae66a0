import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectToShow, pageFor, servePage } from '../e2e/shown-page.ts';
import { startWorld, type World } from '../support/gateway.ts';
import { chromium, describeWith } from '../support/needs.ts';
import { pageExamples, pages } from '../support/readme.ts';

const [page] = pages
  .flatMap(({ text }) => pageExamples(text))
  .filter(({ kind }) => kind === 'page');

describeWith(chromium, 'the web page of the README', () => {
  let world: World;
  let served: Awaited<ReturnType<typeof servePage>>;
  let html = '';
  beforeAll(async () => {
    served = await servePage(() => html);
    world = await startWorld({ env: { PORT: '0', CORS_ORIGINS: served.origin } });
    const { url } = await world.gateway.listen();
    if (page) html = pageFor(page, url);
  });
  afterAll(() => {
    served.server.close();
  });

  it('shows what the README says, in twenty lines', async () => {
    expect(html.trimEnd().split('\n').length).toBeLessThanOrEqual(20);
    await expectToShow(served.origin, page?.answers[0]?.text ?? '');
  });
});
