import { describe, expect, it } from 'vitest';
import { createLoginUrl } from '../../src/links/account/login-url.ts';
import { subscribeUser } from '../../src/links/account/plan.ts';
import type { User } from '../../src/links/account/user.ts';
import {
  type Campaign,
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
import type { Evidence, Row, Write } from '../../src/upstream/request.ts';

function evidenceOf<T, K extends Evidence<T>['kind']>(
  { evidence }: Write<T>,
  kind: K,
): Extract<Evidence<T>, { kind: K }> {
  if (evidence?.kind !== kind) throw new Error(`not ${kind}`);
  return evidence as Extract<Evidence<T>, { kind: K }>;
}

it('a deletion was applied before if its repetition finds no row', () => {
  const { appliedBefore } = evidenceOf(deleteChannel(7), 'repeatable');
  expect(appliedBefore?.({ kind: 'absent', reason: 'Gone' })).toEqual({ id: 7 });
  expect(appliedBefore?.({ kind: 'rejected', reason: 'The channel is locked' })).toBeNull();
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

describe('an update of a slug', () => {
  const { applied, mayRepeat } = evidenceOf(
    updateCampaign(7, { name: 'Summer', slug: 'Sale_1', public: true }),
    'row',
  );
  const row: Campaign = {
    id: 7,
    name: 'Summer',
    public: true,
    rotatorUrl: 'https://s.example/r/sale-1',
    listUrl: null,
  };

  it('was applied if the row has all given members', () => {
    expect(applied(row, null)).toBe(row);
    expect(applied({ ...row, public: null } as Row, null)).toMatchObject({ id: 7 });
  });

  it.each([{ name: 'summer' }, { public: false }, { rotatorUrl: 'https://s.example/r/sale' }])(
    'may be repeated if the row has %j',
    (members) => {
      expect(applied({ ...row, ...members }, null)).toBeNull();
      expect(mayRepeat).toBe(true);
    },
  );

  it('is repeatable without the slug', () => {
    expect(updateCampaign(7, { name: 'Summer' }).evidence).toEqual({ kind: 'repeatable' });
  });
});

describe('a subscription without an expiration', () => {
  const input = { userId: 7, planId: 2, type: 'MONTHLY' } as const;
  const { applied, mayRepeat } = evidenceOf(subscribeUser(input), 'row');
  const before: Pick<User, 'id' | 'planId' | 'expires'> = {
    id: 7,
    planId: 2,
    expires: '2030-01-31T00:00:00Z',
  };

  it('was applied if the user has the plan and had another one', () => {
    const row = { ...before, expires: '2029-12-31T00:00:00Z' };
    expect(applied(row, { ...before, planId: 1 } as Row)).toBe(row);
  });

  it('was applied if the plan ends later than before', () => {
    const row = { ...before, expires: '2030-02-28T00:00:00Z' };
    expect(applied(row, before)).toBe(row);
  });

  it.each([
    ['the user was not cached', before, null],
    ['nothing has changed', before, before],
    ['the plan is another one', { ...before, planId: 3, expires: '2031-01-01T00:00:00Z' }, before],
    ['the plan has no end any more', { ...before, expires: null }, before],
  ])('is unknown if %s', (_, row, earlier) => {
    expect(applied(row as Row, earlier)).toBeNull();
    expect(mayRepeat).toBe(false);
  });

  it('for a lifetime was applied if the plan has no end any more', () => {
    const lifetime = evidenceOf(subscribeUser({ ...input, type: 'LIFETIME' }), 'row');
    const row = { ...before, expires: null };
    expect(lifetime.applied(row, before)).toBe(row);
  });

  it('is repeatable with an expiration', () => {
    const { evidence } = subscribeUser({ ...input, expiration: '2030-02-28T00:00:00Z' });
    expect(evidence).toEqual({ kind: 'repeatable' });
  });
});

describe('a creation', () => {
  const channel = { id: 7, name: 'Summer', description: '', color: '#aabbcc', starred: true };

  it('compares only what was given and what the list returns', () => {
    const { matches } = evidenceOf(createChannel({ name: ' Summer ', color: '#ABC' }), 'creation');
    expect(matches(channel)).toBe(true);
    expect(matches({ ...channel, color: null } as Row)).toBe(true);
    expect(matches({ id: 7, name: null } as Row)).toBe(false);
  });

  it('resembles a row whose options the API may have ignored, and does not match it', () => {
    const evidence = evidenceOf(createChannel({ name: 'Summer', starred: false }), 'creation');
    expect(evidence.matches(channel)).toBe(false);
    expect(evidence.resembles(channel)).toBe(true);
    expect(evidence.resembles({ ...channel, name: 'Winter' } as Row)).toBe(false);
  });

  it('matches a text that was cut', () => {
    const name = 'A long name '.repeat(20);
    const { matches } = evidenceOf(createChannel({ name }), 'creation');
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
      const { matches, resembles } = evidenceOf(write as Write<Row>, 'creation');
      const row = { id: 7, name: 'Any', public: true } as Row;
      expect([matches(row), resembles(row)]).toEqual([false, true]);
    }
  });

  it('with a slug is unique, and without the slug in the list it only resembles', () => {
    const evidence = evidenceOf(createCampaign({ name: 'Summer', slug: 'sale' }), 'creation');
    expect(evidence.isUnique).toBe(true);
    const row = { id: 7, name: 'Summer', rotatorUrl: 'https://s.example/r/sale' };
    expect(evidence.matches(row)).toBe(true);
    expect(evidence.matches({ ...row, rotatorUrl: null } as Row)).toBe(false);
    expect(evidence.resembles({ ...row, rotatorUrl: null } as Row)).toBe(true);
  });

  it('of a megabyte matches no row that begins alike and ends otherwise', () => {
    const name = '&amp;<'.repeat(170_000);
    const { matches } = evidenceOf(createChannel({ name }), 'creation');
    for (let row = 0; row < 100; row += 1) {
      expect(matches({ ...channel, name: `${name.slice(0, 252)} ${row}` } as Row)).toBe(false);
    }
  });
});
