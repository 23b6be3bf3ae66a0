import type { ConsoleState } from '../../src/console/console-state.ts';
import { byId, keyedChildren } from './dom.ts';
import { Feed } from './feed.ts';
import { createGlance } from './glance.ts';
import { createHeader } from './header.ts';
import { createCache } from './tables/cache.ts';
import { createClasses } from './tables/classes.ts';
import { createEvents } from './tables/events.ts';
import { createJobs } from './tables/jobs.ts';
import { createOperations } from './tables/operations.ts';
import { createReplicas } from './tables/replicas.ts';
import { createSpenders } from './tables/spenders.ts';
import { createUsage } from './tables/usage.ts';
import { createWaiting } from './tables/waiting.ts';
import { Tooltip } from './tooltip.ts';
import { type UpstreamNow, upstreamCard } from './upstream-card.ts';

const tooltip = new Tooltip();
const showUpstreams = keyedChildren<UpstreamNow>(
  byId('upstreams'),
  ({ upstream }) => upstream.upstream,
  () => upstreamCard(tooltip),
);
const usage = createUsage(byId('usage'));
const header = createHeader((token) => {
  usage.useToken(token);
  feed.useToken(token);
});
const parts: readonly ((state: ConsoleState) => void)[] = [
  (state) => header.update(state),
  createGlance(byId('glance')),
  (state) => showUpstreams(state.upstreams.map((upstream) => ({ upstream, state }))),
  createWaiting(byId('waiting')),
  createSpenders(byId('spenders')),
  createJobs(byId('jobs')),
  createClasses(byId('classes')),
  (state) => usage.update(state),
  createOperations(byId('operations')),
  createCache(byId('cache')),
  createReplicas(byId('replicas')),
  createEvents(byId('events')),
];
const feed = new Feed({
  state(state) {
    for (const show of parts) show(state);
  },
  trouble: (sentence) => header.trouble(sentence),
});
feed.start();
