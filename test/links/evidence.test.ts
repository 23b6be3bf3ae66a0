import { describe, expect, it } from 'vitest';
import { createLoginUrl } from '../../src/links/account/login-url.ts';
import { subscribeUser } from '../../src/links/account/plan.ts';
import {
  createCampaign,
  deleteCampaign,
  updateCampaign,
} from '../../src/links/content/campaign.ts';
import {
  assignItemToChannel,
  createChannel,
  deleteChannel,
  updateChannel,
} from '../../src/links/content/channel.ts';
import { createQrCode } from '../../src/links/content/qr-code.ts';
import type { Creation, Repeatable, Row, Write } from '../../src/upstream/request.ts';

function creationOf<T>({ evidence }: Write<T>): Creation<T> {
  if (evidence?.kind !== 'creation') throw new Error('not a creation');
  return evidence;
}

function repeatableOf<T>({ evidence }: Write<T>): Repeatable<T> {
  if (evidence?.kind !== 'repeatable') throw new Error('not repeatable');
  return evidence;
}

it('a deletion was applied before if its repetition finds no row', () => {
  const { refusedAgain } = repeatableOf(deleteChannel(7));
  expect(refusedAgain?.('absent')).toEqual({ id: 7 });
  expect(refusedAgain?.('rejected')).toBeNull();
});

it.each([
  ['an assignment', assignItemToChannel(7, { type: 'QR', id: 3 })],
  ['an update of a slug', updateCampaign(7, { name: 'Summer', slug: 'sale' })],
])('%s can be refused because it was applied before', (_, write) => {
  expect(repeatableOf<Row>(write).refusedAgain?.('rejected')).toBeNull();
});

it('another update is refused again only if the first was refused', () => {
  expect(updateCampaign(7, { name: 'Summer' }).evidence).toEqual({ kind: 'repeatable' });
});

it('a subscription is repeatable with an expiration only', () => {
  const input = { userId: 7, planId: 2, type: 'MONTHLY' } as const;
  expect(subscribeUser(input).evidence).toBeNull();
  const { evidence } = subscribeUser({ ...input, expiration: '2030-02-28T00:00:00Z' });
  expect(evidence).toEqual({ kind: 'repeatable' });
});

it('writers of a row name it alike, and an assignment names the item', () => {
  expect(updateChannel(7, { name: 'a' }).row).toBe(deleteChannel(7).row);
  expect(updateCampaign(7, { name: 'a' }).row).toBe(deleteCampaign(7).row);
  const [one, other] = [
    assignItemToChannel(7, { type: 'QR', id: 3 }),
    assignItemToChannel(8, { type: 'QR', id: 3 }),
  ];
  expect(one.row).toBe(other.row);
  expect(createChannel({ name: 'a' }).row).toBeUndefined();
});

it('a secret has no evidence', () => {
  expect(createLoginUrl(1).evidence).toBeNull();
});

describe('a creation', () => {
  const channel = { id: 7, name: 'Summer', description: '', color: '#aabbcc', starred: true };

  it('compares only what was given and what the list returns', () => {
    const { matches } = creationOf(createChannel({ name: ' Summer ', color: '#ABC' }));
    expect(matches(channel)).toBe(true);
    expect(matches({ ...channel, color: null } as Row)).toBe(true);
    expect(matches({ id: 7, name: null } as Row)).toBe(false);
  });

  it('resembles a row whose options the API may have ignored, and does not match it', () => {
    const evidence = creationOf(createChannel({ name: 'Summer', starred: false }));
    expect(evidence.matches(channel)).toBe(false);
    expect(evidence.resembles(channel)).toBe(true);
    expect(evidence.resembles({ ...channel, name: 'Winter' } as Row)).toBe(false);
  });

  it('matches a text that was cut', () => {
    const name = 'A long name '.repeat(20);
    const { matches } = creationOf(createChannel({ name }));
    for (const end of ['', '…', '...', '&am', '\uD83C']) {
      expect(matches({ ...channel, name: `${name.slice(0, 100)}${end}` } as Row)).toBe(true);
    }
    expect(matches({ ...channel, name: name.slice(0, 20) } as Row)).toBe(false);
  });

  it('without anything that says which row it is matches no row and resembles each', () => {
    for (const write of [
      createQrCode({ type: 'TEXT', data: 'x' }),
      createCampaign({ public: true }),
    ]) {
      const { matches, resembles } = creationOf(write as Write<Row>);
      const row = { id: 7, name: 'Any', public: true } as Row;
      expect([matches(row), resembles(row)]).toEqual([false, true]);
    }
  });

  it('with a slug is unique, and without the slug in the list it only resembles', () => {
    const evidence = creationOf(createCampaign({ name: 'Summer', slug: 'sale' }));
    expect(evidence.isUnique).toBe(true);
    const row = { id: 7, name: 'Summer', rotatorUrl: 'https://s.example/r/sale' };
    expect(evidence.matches(row)).toBe(true);
    expect(evidence.matches({ ...row, rotatorUrl: null } as Row)).toBe(false);
    expect(evidence.resembles({ ...row, rotatorUrl: null } as Row)).toBe(true);
  });

  it('of a megabyte matches no row that begins alike and ends otherwise', () => {
    const name = '&amp;<'.repeat(170_000);
    const { matches } = creationOf(createChannel({ name }));
    for (let row = 0; row < 100; row += 1) {
      expect(matches({ ...channel, name: `${name.slice(0, 252)} ${row}` } as Row)).toBe(false);
    }
  });
});
