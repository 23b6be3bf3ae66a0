import type { Credential } from '../auth/credential.ts';
import type { UpstreamName } from '../errors.ts';
import { items } from '../market/item.ts';
import { seller } from '../market/seller.ts';
import type { DailyRead } from '../series/daily-reads.ts';
import type { Lists } from '../upstream/lists/pages.ts';
import type { List, Row } from '../upstream/request.ts';
import { plans } from './account/plan.ts';
import { users } from './account/user.ts';
import { domains } from './brand/branded-domain.ts';
import { overlays } from './brand/cta-overlay.ts';
import { pixels } from './brand/pixel.ts';
import { splashPages } from './brand/splash-page.ts';
import { campaigns } from './content/campaign.ts';
import { channels } from './content/channel.ts';
import { files } from './content/file.ts';
import { qrCodes } from './content/qr-code.ts';

const linksLists: readonly List<Row>[] = [
  campaigns,
  channels,
  domains,
  files(),
  overlays,
  pixels,
  plans,
  qrCodes,
  splashPages,
  users(),
];

/** The gateway's own keys. */
type KeysOfApis = Readonly<Record<UpstreamName, { readonly credential: Credential }>>;

/** The reads that `HISTORY_WATCH` names, of the APIs that are configured. */
export function dailyReads(
  watch: readonly string[],
  { links, market }: { readonly links: Lists | null; readonly market: Lists | null },
  keys: KeysOfApis,
): DailyRead[] {
  const reads = linksLists.flatMap((list) => (links ? ofList(list, links, keys) : []));
  if (market) reads.push(ofList(items, market, keys), ofSeller(market, keys));
  return reads.filter(({ resource }) => watch.includes(resource));
}

function ofList(list: List<Row>, lists: Lists, keys: KeysOfApis): DailyRead {
  const { upstream } = lists.client;
  return {
    resource: list.resource,
    owner: () => ({ upstream, credential: keys[upstream].credential }),
    request: (page) => lists.refresh(list, page, keys[upstream].credential),
  };
}

function ofSeller({ client }: Lists, { MARKET }: KeysOfApis): DailyRead {
  return {
    resource: 'seller',
    owner: () => ({ upstream: 'MARKET', credential: MARKET.credential }),
    request: () => client.refresh(seller, MARKET.credential),
  };
}
