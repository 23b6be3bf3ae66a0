/** The subject of a mutation, as far as invalidation depends on it. */
interface TouchedSubject {
  /** The row's id; absent for a new row whose id is unknown. */
  readonly id?: number | undefined;
}

/**
 * Which cache entries each mutation invalidates, by the tags of the reads in this folder. A list is
 * invalidated whole, since a changed row can move to another page.
 */
export const touches = {
  updateAccount: () => ['account', 'users', 'user'],

  createDomain: () => ['domains'],
  updateDomain: () => ['domains'],
  deleteDomain: () => ['domains'],

  createCampaign: () => ['campaigns'],
  updateCampaign: () => ['campaigns'],
  deleteCampaign: () => ['campaigns'],
  assignLinkToCampaign: () => ['campaigns'],

  createChannel: ({ id }: TouchedSubject) => [
    'channels',
    id ? `channel:${id}:items` : 'channelItems',
  ],
  updateChannel: () => ['channels'],
  deleteChannel: ({ id }: TouchedSubject) => ['channels', `channel:${id}:items`],
  // An installation may allow an item in one channel only: it has then left another.
  assignItemToChannel: ({ id, item }: TouchedSubject & { readonly item: string }) => [
    `channel:${id}:items`,
    ...anywhere(item),
  ],

  uploadFile: () => ['files'],

  createPixel: () => ['pixels'],
  updatePixel: () => ['pixels'],
  deletePixel: () => ['pixels'],

  createQrCode: ({ id }: TouchedSubject) => ['qrCodes', id ? `qrCode:${id}` : 'qrStatistics'],
  updateQrCode: ({ id }: TouchedSubject) => ['qrCodes', `qrCode:${id}`, ...anywhere(`QR:${id}`)],
  deleteQrCode: ({ id }: TouchedSubject) => ['qrCodes', `qrCode:${id}`, ...anywhere(`QR:${id}`)],

  // A user may be the owner of the gateway's own key.
  subscribeUser: ({ id }: TouchedSubject) => ['users', `user:${id}`, 'account'],
  createUser: ({ id }: TouchedSubject) => ['users', id ? `user:${id}` : 'user'],
  deleteUser: ({ id }: TouchedSubject) => ['users', `user:${id}`],
  createLoginUrl: () => [],
} satisfies Record<
  string,
  (subject: TouchedSubject & { readonly item: string }) => readonly string[]
>;

/** Tags for an item that may be in any channel: the pages that contain it, and all pages in flight. */
function anywhere(item: string): string[] {
  return [channelItemTag(item), channelItemsInFlight];
}

/** The tag of every page of channel items that contains an item, e.g. `QR:7`. */
export function channelItemTag(item: string): string {
  return `channelItem:${item}`;
}

/** The tags of a page that contains these items. */
export function channelItemTags(items: readonly string[]): string[] {
  return items.map(channelItemTag);
}

/** The tag of every page of channel items in flight, whose items are unknown. */
export const channelItemsInFlight = 'channelItems in flight';
