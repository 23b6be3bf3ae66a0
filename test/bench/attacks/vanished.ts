import { setTimeout as sleep } from 'node:timers/promises';
import { VanishingNetwork } from '../../support/vanishing-network.ts';
import type { Attack } from './attack.ts';
import { type Target, tokens } from './target.ts';

const VIEWERS = 50;
const MAX_AGE_MS = 4000;
/** How long after their network a stream may be there yet: until it has come to its age, and its end has been tried. */
const KEPT_MS = MAX_AGE_MS + 6000;

/** Looks at a live query over this many connections, and says when all have their first result. */
const viewers = `
const { connect } = require('node:net');
const { HOST, PORT, TOKEN, VIEWERS } = process.env;
const body = JSON.stringify({ query: 'query @live { pixels(first: 1) { totalCount nodes { name } } }' });
const head = ['POST /graphql HTTP/1.1', 'Host: localhost', 'Content-Type: application/json',
  'Accept: text/event-stream;live=patch', 'Authorization: Bearer ' + TOKEN, 'Content-Length: ' + body.length];
let begun = 0;
for (let n = 0; n < VIEWERS; n += 1) {
  const socket = connect(PORT, HOST, () => socket.write(head.join('\\r\\n') + '\\r\\n\\r\\n' + body));
  socket.on('error', () => {});
  socket.once('data', () => { begun += 1; if (begun == VIEWERS) console.log('all look'); });
}
setInterval(() => {}, 1000);
`;

async function streams({ host, port }: Target): Promise<number> {
  const text = await (await fetch(`http://${host}:${port}/metrics`)).text();
  return Number(/^gateway_live_streams (\d+)$/m.exec(text)?.[1]);
}

async function attack(target: Target, network: VanishingNetwork): Promise<number> {
  const inside = network.start(viewers, {
    HOST: network.address,
    PORT: String(target.port),
    TOKEN: tokens.attacker,
    VIEWERS: String(VIEWERS),
  });
  try {
    await inside.says(/all look/);
    network.vanish();
    // What is sent now is never acknowledged.
    const change =
      'mutation { createPixel(input: { type: GTM, name: "x", tag: "GTM-1" }) { __typename } }';
    await target.ask(change);
    const since = performance.now();
    while ((await streams(target)) > 0 && performance.now() - since < KEPT_MS) await sleep(250);
    return await streams(target);
  } finally {
    inside.child.kill('SIGKILL');
  }
}

const vanished: Attack = {
  name: 'vanished',
  about: `The network of ${VIEWERS} viewers of a live query is gone without a word, and then they are told of a change.`,
  env: { HOST: '0.0.0.0', LIVE_MAX_AGE_MS: String(MAX_AGE_MS) },
  mayCall: 10,
  lastsMs: 30_000,
  async run(target) {
    const network = VanishingNetwork.make();
    if (network === null) throw new Error('there is no network to take away');
    try {
      const value = await attack(target, network);
      const label = `streams that are kept ${KEPT_MS / 1000} s after it`;
      return [{ label, value, target: { atMost: 0 } }];
    } finally {
      network.remove();
    }
  },
};

/** Attacks by clients that are no longer there; none, and a word of it, where no network can be taken away. */
export function vanishedAttacks(): readonly Attack[] {
  const network = VanishingNetwork.make();
  network?.remove();
  if (network) return [vanished];
  process.stderr.write(`skipped: the attack "${vanished.name}" needs iproute2 and root\n`);
  return [];
}
