/** What a mutation was about, as far as it matters for what it makes wrong. */
interface Subject {
  /** The row's id; absent for a row being made whose id is not known (yet). */
  readonly id?: number | undefined;
}

/**
 * Which kept answers each mutation makes wrong, by the tags of the reads in this folder. A list is
 * dropped whole, for a changed row can stand on another page than before.
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

  createChannel: ({ id }: Subject) => ['channels', id ? `channel:${id}:items` : 'channelItems'],
  updateChannel: () => ['channels'],
  deleteChannel: ({ id }: Subject) => ['channels', `channel:${id}:items`],
  // An installation may let an item stand in one channel at a time: then it has left another.
  assignItemToChannel: ({ id, item }: Subject & { readonly item: string }) => [
    `channel:${id}:items`,
    ...anywhere(item),
  ],

  uploadFile: () => ['files'],

  createPixel: () => ['pixels'],
  updatePixel: () => ['pixels'],
  deletePixel: () => ['pixels'],

  createQrCode: ({ id }: Subject) => ['qrCodes', id ? `qrCode:${id}` : 'qrStatistics'],
  updateQrCode: ({ id }: Subject) => ['qrCodes', `qrCode:${id}`, ...anywhere(`QR:${id}`)],
  deleteQrCode: ({ id }: Subject) => ['qrCodes', `qrCode:${id}`, ...anywhere(`QR:${id}`)],

  // A user may be the owner of the gateway's own key.
  subscribeUser: ({ id }: Subject) => ['users', `user:${id}`, 'account'],
  createUser: ({ id }: Subject) => ['users', id ? `user:${id}` : 'user'],
  deleteUser: ({ id }: Subject) => ['users', `user:${id}`],
  createLoginUrl: () => [],
} satisfies Record<string, (subject: Subject & { readonly item: string }) => readonly string[]>;

/** What to touch for an item that may stand in any channel: the pages it is on, and any on their way. */
function anywhere(item: string): string[] {
  return [channelItemTag(item), channelItemsInFlight];
}

/** The tag of every page of channel items that an item, e.g. `QR:7`, stands on. */
export function channelItemTag(item: string): string {
  return `channelItem:${item}`;
}

/** The tag of channel items whose answer is still on its way, so that nobody knows which they are. */
export const channelItemsInFlight = 'channelItems in flight';
