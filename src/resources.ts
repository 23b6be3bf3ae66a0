interface Kind {
  readonly ttlMs: number;
  readonly why: string;
  readonly standIn?: (id: number) => object;
}

/**
 * All resources with their own ttl. `ttlMs` is how long a response counts as fresh unless the setting `TTL_…_MS`
 * says otherwise; `why` gives the reason to the operator. `standIn`: see `standInOf`.
 */
export const resources = {
  account: {
    ttlMs: 60_000,
    why: 'A profile is edited by hand, and its owner checks the result immediately.',
  },
  domains: {
    ttlMs: 300_000,
    why: 'Domains are set up once and rarely change.',
    // A domain without a host has no files, and none would be read.
    standIn: () => ({ domain: 'https://unknown.invalid' }),
  },
  overlays: { ttlMs: 300_000, why: 'Overlays are designed once; the list has only their names.' },
  campaigns: { ttlMs: 60_000, why: 'Several people edit campaigns.' },
  channels: { ttlMs: 60_000, why: 'Several people edit channels.' },
  channelItems: {
    ttlMs: 60_000,
    why: 'Costs one request per channel, so it is cached as long as the channel list.',
    // Of the three types, only a QR code can cost further requests.
    standIn: () => ({ type: 'QR' }),
  },
  splashPages: {
    ttlMs: 300_000,
    why: 'Splash pages are designed once; the list has only their names.',
  },
  files: { ttlMs: 60_000, why: 'Download counts change often; one minute of delay is acceptable.' },
  pixels: { ttlMs: 300_000, why: 'Pixels are set up once and rarely change.' },
  qrCodes: { ttlMs: 60_000, why: 'Scan counts change often; one minute of delay is acceptable.' },
  qrStatistics: {
    ttlMs: 120_000,
    why: 'Costs one request per code, so it is cached longer than the list of codes.',
    // The channels of a code are read if it exists.
    standIn: () => ({}),
  },
  plans: { ttlMs: 600_000, why: 'Plans change only when prices do.' },
  users: {
    ttlMs: 30_000,
    why: 'An administrator expects to see the changes of other administrators.',
    standIn: (id: number) => ({ planId: id }),
  },
  seller: {
    ttlMs: 300_000,
    why: 'The balance changes with sales; five minutes of delay is acceptable.',
  },
  items: { ttlMs: 600_000, why: 'The list changes when an item is published.' },
  purchase: {
    ttlMs: 300_000,
    why: 'A valid code stays valid; a refund can show five minutes late.',
  },
} as const satisfies Readonly<Record<string, Kind>>;

/** One of `resources`. */
export type Resource = keyof typeof resources;

/** The names of `resources`, in their order. */
export const resourceNames: readonly Resource[] = Object.keys(resources).filter(isResource);

/** Something for each resource. */
export function perResource<T>(make: (resource: Resource) => T): Readonly<Record<Resource, T>> {
  const all = resourceNames.map((resource) => [resource, make(resource)] as const);
  return Object.fromEntries(all) as Record<Resource, T>;
}

function isResource(name: string): name is Resource {
  return Object.hasOwn(resources, name);
}

/**
 * The members of an unknown row in a dry run on which further reads depend; `undefined` if none do. `id` is that
 * of a row that it refers to.
 */
export function standInOf(resource: Resource, id: number): object | undefined {
  const kind: Kind = resources[resource];
  return kind.standIn?.(id);
}
