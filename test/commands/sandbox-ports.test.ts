import { expect, it } from 'vitest';
import { SANDBOX_PORTS } from '../../src/commands/sandbox.ts';
import { pageAt } from '../support/readme.ts';

it('the default ports of the sandbox command are those of the documentation', () => {
  const [links, market] = SANDBOX_PORTS;
  const page = pageAt('docs/sandbox.md');
  expect(page).toContain(`${links.usual} (links) and ${market.usual} (market)`);
  const addresses = page.match(/http:\/\/127\.0\.0\.1:\d+/g) ?? [];
  expect(new Set(addresses)).toEqual(new Set([`http://127.0.0.1:${links.usual}`]));
  const rows = pageAt('docs/configuration.md').split('\n');
  for (const { name, usual } of SANDBOX_PORTS) {
    const row = rows.find((line) => line.startsWith(`| \`${name}\``));
    expect(row).toContain(`with the command \`sandbox\` ${usual}.`);
  }
});
