import { beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../../support/gateway.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});

const CREATE = `mutation ($name: String) {
  createCampaign(input: { name: $name }) { __typename ... on Rejected { message } }
}`;

/** What a form shows when the upstream refuses in these words. */
async function shown(message: string, name = 'x'): Promise<string> {
  const restore = world.sandbox.links.fault({
    kind: 'answer',
    rewrite: () => ({ status: 200, headers: {}, body: { error: 1, message } }),
  });
  try {
    const answer = await world.ask<{ createCampaign: { message: string } }>(CREATE, { name });
    expect(answer.errors).toEqual([]);
    return answer.data.createCampaign.message;
  } finally {
    restore();
  }
}

describe('Rejected.message', () => {
  it('says why in the upstream’s words, without its addresses', async () => {
    const { url } = world.sandbox.links;
    const host = new URL(url).host;
    expect(
      await shown(`Not now: see ${url}/api/admin?key=s3cret or <a href="${url}">${host}</a>.`),
    ).toBe('Not now: see [address] or [address].');
    expect(await shown('SQLSTATE[HY000] Connection refused (10.0.0.9:3306)')).toBe(
      'SQLSTATE[HY000] Connection refused ([address])',
    );
    expect(await shown('In /var/www/app/Campaign.php: signature=0a1b2c is used up')).toBe(
      'In [address]: signature=0a1b2c is used up',
    );
  });

  it('says nothing of its own of a read', async () => {
    const restore = world.sandbox.links.fault({
      kind: 'answer',
      rewrite: () => ({
        status: 200,
        headers: {},
        body: { error: 1, message: 'See http://in.side/x' },
      }),
    });
    const { text } = await world.ask('{ campaigns { totalCount } }');
    restore();
    expect(text).toContain('UPSTREAM_REJECTED');
    expect(text).not.toContain('in.side');
  });
});
