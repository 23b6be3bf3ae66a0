import type { Row } from '../../support/gateway.ts';
import { rounds } from '../../support/rounds.ts';
import type { Change, State, Truth, View } from './truth.ts';

/** Things that the writes and reads of one schedule are about. */
interface Theme {
  readonly name: string;
  readonly schedules: number;
  readonly start: Readonly<Record<string, State>>;
  readonly views: readonly View[];
  readonly changes: readonly Change[];
}

/** What something is like that no write has touched. */
const SEEDED = 'seeded';

/** How a row shows: by the name that a write has given it, if one has. */
function nameOf(row: Row | null | undefined, member = 'name'): State {
  const name = row?.[member];
  if (row === null || row === undefined) return null;
  if (typeof name !== 'string' || !/^(name|2040)/.test(name)) return SEEDED;
  // Times are told with milliseconds here and without there.
  return name.replace(/(\.\d+)?Z$/, '');
}

const is = (seen: State) => (state: State) => state === seen;
const globalId = (type: string, id: number) => Buffer.from(`${type}:${id}`).toString('base64url');

/** A list, and which rows to look at. */
function listView(type: string, query: string, ids: readonly number[], member = 'name'): View {
  return {
    query,
    sees(data) {
      const [list] = Object.values(data) as (Row[] | { nodes: Row[] })[];
      const rows = Array.isArray(list) ? list : (list?.nodes ?? []);
      return ids.map((id) => {
        const row = rows.find((each) => each['databaseId'] === id);
        return [`${type}:${id}`, is(nameOf(row, member))] as const;
      });
    },
  };
}

/** One row, and what it is asked for. */
function singleViews(type: string, ids: readonly number[], fields = 'name'): View[] {
  const field = type[0]?.toLowerCase() + type.slice(1);
  const [member = ''] = fields.split(' ');
  return ids.flatMap((id) =>
    [
      `${field}(id: ${id}) { ${fields} }`,
      `node(id: "${globalId(type, id)}") { ... on ${type} { ${fields} } }`,
    ]
      // The API has no such field.
      .filter((selection) => type !== 'Pixel' || selection.startsWith('node'))
      .map((selection) => ({
        query: `{ row: ${selection} }`,
        sees: (data: Row) => [
          [`${type}:${id}`, is(nameOf(data['row'] as Row | null, member))] as const,
        ],
      })),
  );
}

/** What a write answers that is read afterwards. */
function selfView(type: string, id: number, fields = 'name'): View {
  const [member = ''] = fields.split(' ');
  return {
    query: `${type} { ${fields} }`,
    sees: (row) => [[`${type}:${id}`, is(nameOf(row, member))]],
  };
}

/** The usual writes of rows that have a name. */
function changesOf(
  type: string,
  options: {
    ids: readonly number[];
    fields: string;
    extra?: string;
    gone?: (id: number) => object;
  },
): Change[] {
  const { ids, fields, extra = '', gone = () => ({}) } = options;
  const path = type === 'QrCode' ? 'qr' : type.toLowerCase();
  const create: Change = (truth) => {
    const id = Number(truth.state(`${type}:next`));
    const name = truth.newName();
    return {
      mutation: `create${type}(input: { name: "${name}" ${extra} })`,
      path: `/api/${path}/add`,
      values: { [`${type}:${id}`]: name, [`${type}:next`]: id + 1 },
      shows: selfView(type, id, fields),
    };
  };
  const some = ids.flatMap((id): Change[] => [
    (truth) => {
      const row = `${type}:${id}`;
      // The API cannot rename a QR code, but what it does to one makes all that is kept of it wrong.
      const name = type === 'QrCode' ? truth.state(row) : truth.newName();
      const input = type === 'QrCode' ? 'data: { value: "y" }' : `name: "${name}"`;
      const tag = type === 'Pixel' ? 'tag: "x"' : '';
      return {
        mutation: `update${type}(input: { id: ${id}, ${input} ${tag} })`,
        path: `/api/${path}/${id}/update`,
        needs: [row],
        values: { [row]: name },
        shows: selfView(type, id, fields),
      };
    },
    () => ({
      mutation: `delete${type}(id: ${id})`,
      path: `/api/${path}/${id}/delete`,
      needs: [`${type}:${id}`],
      values: { [`${type}:${id}`]: null, ...gone(id) },
    }),
  ]);
  return [create, create, ...some];
}

const campaigns = [53, 52, 57, 58];
const pixels = [67, 65, 69, 70];
const channels = [21, 65, 115];
const codes = [301, 307, 470];
const users = [109, 105, 110, 111];

const item = (channel: number, code: number) => `${channel} holds ${code}`;
const items =
  'items(first: 60) { nodes { ... on ChannelEntry { type databaseId title } ... on QrItem { qrCode { name } } } }';

/** What stands in a channel: which codes, and what they are called. */
function seesItems(channel: number, row: Row | null): ReturnType<View['sees']> {
  const nodes = (row?.['items'] as { nodes: Row[] } | null | undefined)?.nodes ?? [];
  return codes.flatMap((code) => {
    const found = nodes.find((node) => node['type'] === 'QR' && node['databaseId'] === code);
    const held = [item(channel, code), is(found !== undefined)] as const;
    if (!found) return [held];
    const known = found['qrCode'] as Row | null;
    const register = `QrCode:${code}`;
    return [
      held,
      [register, is(nameOf(found, 'title'))] as const,
      [register, is(nameOf(known))] as const,
    ];
  });
}

const itemViews = channels.flatMap((id): View[] =>
  [
    `channel(id: ${id}) { ${items} }`,
    `node(id: "${globalId('Channel', id)}") { ... on Channel { name ${items} } }`,
  ].map((selection) => ({
    query: `{ row: ${selection} }`,
    sees: (data) => {
      const row = data['row'] as Row | null;
      const there = [
        `Channel:${id}`,
        (state: State) => (state === null) === (row === null),
      ] as const;
      return [there, ...seesItems(id, row)];
    },
  })),
);

const assignments = channels.flatMap((channel) =>
  codes.map(
    (code): Change =>
      () => ({
        mutation: `assignItemToChannel(channelId: ${channel}, type: QR, itemId: ${code})`,
        path: `/api/channel/${channel}/assign/qr/${code}`,
        needs: [`Channel:${channel}`, `QrCode:${code}`],
        values: { [item(channel, code)]: true },
        shows: { query: `Channel { ${items} }`, sees: (row) => seesItems(channel, row) },
      }),
  ),
);

const expiry = (truth: Truth) =>
  new Date(Date.UTC(2040, 0, 1, 0, truth.newNumber())).toISOString().slice(0, 19);
const owner = 12;

const userViews: View[] = [
  listView('User', '{ users { databaseId expires } }', [...users, owner], 'expires'),
  // No seeded user lives there.
  listView('User', '{ users(email: "x.example") { databaseId expires } }', [110, 111], 'expires'),
  ...singleViews('User', [...users, owner], 'expires email'),
  {
    query: '{ account { expires email } }',
    sees: ({ account }) => [
      [`User:${owner}`, is(nameOf(account as Row, 'expires'))],
      [`email of ${owner}`, is(nameOf(account as Row, 'email'))],
    ],
  },
  {
    query: `{ user(id: ${owner}) { email } }`,
    sees: ({ user }) => [[`email of ${owner}`, is(nameOf(user as Row, 'email'))]],
  },
];

const userChanges: Change[] = [
  (truth) => {
    const id = Number(truth.state('User:next'));
    const [name, expires] = [truth.newName(), expiry(truth)];
    return {
      mutation: `createUser(input: { username: "${name}", email: "${name}@x.example", password: "secret", expiration: "${expires}Z" })`,
      path: '/api/user/add',
      values: { [`User:${id}`]: expires, 'User:next': id + 1 },
      shows: selfView('User', id, 'expires registered'),
    };
  },
  (truth) => {
    // Ids of users are used again: the one made last is the one to go.
    const id = Math.max(110, Number(truth.state('User:next')) - 1);
    return {
      mutation: `deleteUser(id: ${id})`,
      path: `/api/user/${id}/delete`,
      needs: [`User:${id}`],
      values: { [`User:${id}`]: null, 'User:next': id },
    };
  },
  () => ({
    mutation: 'deleteUser(id: 105)',
    path: '/api/user/105/delete',
    needs: ['User:105'],
    values: { 'User:105': null },
  }),
  ...[109, 105, 110, owner].map(
    (id): Change =>
      (truth) => {
        const expires = expiry(truth);
        return {
          mutation: `subscribeUser(input: { planId: 2, userId: ${id}, type: YEARLY, expiration: "${expires}Z" })`,
          path: `/api/plan/2/user/${id}`,
          needs: [`User:${id}`],
          values: { [`User:${id}`]: expires },
          shows: selfView('User', id, 'expires registered'),
        };
      },
  ),
  (truth) => {
    const email = `${truth.newName()}@y.example`;
    return {
      mutation: `updateAccount(input: { email: "${email}" })`,
      path: '/api/account/update',
      values: { [`email of ${owner}`]: email },
    };
  },
];

const seeded = (type: string, ids: readonly number[], next: number) => ({
  ...Object.fromEntries(ids.map((id) => [`${type}:${id}`, id < next ? SEEDED : null])),
  [`${type}:next`]: next,
});

export const themes: readonly Theme[] = [
  {
    name: 'campaigns',
    schedules: rounds(4),
    start: seeded('Campaign', campaigns, 57),
    views: [
      listView('Campaign', '{ campaigns(first: 60) { nodes { databaseId name } } }', campaigns),
      ...singleViews('Campaign', campaigns),
    ],
    changes: changesOf('Campaign', { ids: campaigns.slice(0, 3), fields: 'name listUrl' }),
  },
  {
    name: 'pixels',
    schedules: rounds(3),
    start: seeded('Pixel', pixels, 69),
    views: [
      listView('Pixel', '{ pixels(last: 60) { nodes { databaseId name } } }', pixels),
      ...singleViews('Pixel', pixels),
    ],
    changes: changesOf('Pixel', {
      ids: pixels.slice(0, 3),
      fields: 'name date',
      extra: 'type: GA, tag: "x"',
    }),
  },
  {
    name: 'channels and QR codes',
    schedules: rounds(6),
    start: {
      ...seeded('Channel', channels, 115),
      ...seeded('QrCode', codes, 470),
      ...Object.fromEntries(
        channels.flatMap((channel) =>
          codes.map((code) => [item(channel, code), channel !== 115 && code !== 470]),
        ),
      ),
    },
    views: [
      listView('Channel', '{ channels(first: 60) { nodes { databaseId name } } }', channels),
      ...singleViews('Channel', channels),
      ...itemViews,
      ...itemViews,
      listView('QrCode', '{ qrCodes(first: 100) { nodes { databaseId name } } }', codes),
      ...singleViews('QrCode', codes),
      ...singleViews('QrCode', codes, 'name statistics { clicks }'),
    ],
    changes: [
      ...assignments,
      ...assignments,
      ...changesOf('Channel', {
        ids: channels,
        fields: 'name description',
        gone: (id) => Object.fromEntries(codes.map((code) => [item(id, code), false])),
      }),
      ...changesOf('QrCode', {
        ids: codes,
        fields: 'name scans',
        extra: 'type: TEXT, data: { value: "x" }',
        gone: (id) => Object.fromEntries(channels.map((channel) => [item(channel, id), false])),
      }),
    ],
  },
  {
    name: 'users and plans',
    schedules: rounds(4),
    start: {
      ...seeded('User', users, 110),
      [`User:${owner}`]: SEEDED,
      [`email of ${owner}`]: SEEDED,
    },
    views: userViews,
    changes: userChanges,
  },
];
