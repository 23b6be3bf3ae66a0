import { type Answer, headerOf, textOf } from './answer.ts';
import type { Gateway, Gateways } from './gateways.ts';
import { sample } from './load.ts';
import { installPeers, type Peer, startPeer } from './peers.ts';
import { DASHBOARD, get, type Headers, plain, post } from './requests.ts';
import { type RowPlan, rowPlans } from './rows.ts';
import type { Server } from './servers.ts';

/** A row whose server runs. */
export interface Row extends Pick<RowPlan, 'name' | 'label' | 'targets'> {
  readonly server: Server;
  readonly next: () => string;
  readonly status: number;
}

/**
 * Starts the servers of the selected rows: `selected` are the beginnings of their names, `null` for all. `missing`
 * are the labels of those whose packages cannot be installed.
 */
export async function startRows(
  gateways: Gateways,
  selected: readonly string[] | null,
): Promise<{
  readonly rows: readonly Row[];
  readonly peers: readonly Server[];
  readonly missing: string[];
}> {
  const chosen = rowPlans.filter(({ name }) => isSelected(name, selected));
  const needsPeers = chosen.some(({ of }) => typeof of === 'object');
  const folder = needsPeers ? installPeers() : null;
  const peers = new Map<Peer, Server>();
  const rows: Row[] = [];
  const missing: string[] = [];
  const { answer, ...world } = await learn(await gateways.get('open'));
  for (const { name, label, of, targets = {}, status = 200, requests } of chosen) {
    if (typeof of === 'object') {
      if (folder === null) {
        missing.push(label);
        continue;
      }
      const server = peers.get(of.peer) ?? (await startPeer(of.peer, folder, answer));
      peers.set(of.peer, server);
      rows.push({ name, label, server, status, targets, next: requests({ ...world, auth: {} }) });
    } else {
      const gateway = await gateways.get(of);
      const { server } = gateway;
      const auth = authOf(gateway);
      // Where only listed operations are answered, this is refused and not needed.
      await ask(gateway, ALL_CHANNELS);
      rows.push({ name, label, server, status, targets, next: requests({ ...world, auth }) });
    }
  }
  return { rows, peers: [...peers.values()], missing };
}

/** Whether a row is selected, by the beginning of its name. */
export function isSelected(name: string, selected: readonly string[] | null): boolean {
  return selected?.some((beginning) => name.startsWith(beginning)) ?? true;
}

const ALL_CHANNELS = '{ channels(first: 100) { nodes { id } } }';

/** What requests have to say, and the dashboard as JSON. */
async function learn(
  gateway: Gateway,
): Promise<{ readonly ids: readonly string[]; readonly etag: string; readonly answer: string }> {
  const list = JSON.parse(textOf(await ask(gateway, ALL_CHANNELS))) as {
    readonly data: { readonly channels: { readonly nodes: readonly { readonly id: string }[] } };
  };
  const { server } = gateway;
  const kept = await sample(server.port, get(plain, { query: DASHBOARD }));
  return {
    ids: list.data.channels.nodes.map(({ id }) => id),
    etag: headerOf(kept, 'etag') ?? '',
    answer: textOf(kept),
  };
}

function ask(gateway: Gateway, query: string): Promise<Answer> {
  return sample(gateway.server.port, post({ ...plain, ...authOf(gateway) }, query));
}

function authOf({ authorization }: Gateway): Headers {
  return authorization === null ? {} : { authorization };
}
