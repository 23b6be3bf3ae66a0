import { describe, expect, it } from 'vitest';
import { account } from '../../../src/links/account/account.ts';
import { user, users } from '../../../src/links/account/user.ts';
import { domains } from '../../../src/links/brand/branded-domain.ts';
import { pixels } from '../../../src/links/brand/pixel.ts';
import { campaigns } from '../../../src/links/content/campaign.ts';
import { type ChannelItem, channelItems, channels } from '../../../src/links/content/channel.ts';
import { files } from '../../../src/links/content/file.ts';
import { qrCode, qrCodes } from '../../../src/links/content/qr-code.ts';
import { touches } from '../../../src/links/touches.ts';
import { schema } from '../../../src/schema.ts';

/** Those that send requests. Those of jobs do not: each change is a mutation of its own. */
const mutations = Object.values(schema.getMutationType()?.getFields() ?? {})
  .filter(({ description }) => !description?.includes('Costs no upstream request'))
  .map(({ name }) => name);

/** What the mutations are about here: number 7 of its kind, or one with an id that is not known yet. */
const subjects = [
  { id: 7, item: 'QR:7' },
  { id: undefined, item: 'QR:7' },
];

/** The tags of everything that is kept and that a mutation can make wrong. */
function tagsOfReads(): Set<string> {
  const items = channelItems(7);
  const qr: ChannelItem = { id: 7, type: 'QR', title: '', preview: '', link: '', date: '' };
  const lists = [domains, campaigns, channels, files(), pixels, qrCodes, users(), items];
  return new Set([
    ...[account, qrCode(7), user(7), ...lists].flatMap(({ tags }) => tags),
    ...(items.rowTags?.([qr]) ?? []),
    ...(items.inFlightTags ?? []),
  ]);
}

describe('the table of what each mutation makes wrong', () => {
  it('has every mutation of the graph', () => {
    expect(mutations).not.toEqual([]);
    expect(mutations.filter((name) => !Object.hasOwn(touches, name))).toEqual([]);
  });

  it('has nothing that is no mutation of the graph', () => {
    expect(Object.keys(touches).filter((name) => !mutations.includes(name))).toEqual([]);
  });

  it.each(Object.entries(touches))(
    'touches with %s only what some read carries',
    (name, tagsOf) => {
      const known = tagsOfReads();
      // Only a row that is being made can be touched without its id.
      for (const subject of name.startsWith('create') ? subjects : subjects.slice(0, 1)) {
        expect(tagsOf(subject).filter((tag) => !known.has(tag))).toEqual([]);
      }
    },
  );

  it('leaves no read that a mutation can make wrong untouched by all', () => {
    const touched = new Set(
      Object.values(touches).flatMap((tagsOf) => subjects.flatMap((subject) => tagsOf(subject))),
    );
    expect([...tagsOfReads()].filter((tag) => !touched.has(tag))).toEqual([]);
  });

  it('drops something after every mutation but a login, which changes nothing', () => {
    const idle = Object.entries(touches).filter(
      ([, tagsOf]) => tagsOf(subjects[0] as { id: number; item: string }).length === 0,
    );
    expect(idle.map(([name]) => name)).toEqual(['createLoginUrl']);
  });
});
