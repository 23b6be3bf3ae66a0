import type { ConsoleState } from '../../src/console/console-state.ts';
import { byId, type Child, show } from '../dom.ts';
import { events } from './events.ts';
import { activeUpstreams } from './failures.ts';
import { Feed } from './feed.ts';
import { glance } from './glance.ts';
import { showHeader, showTrouble, startAskingToken } from './header.ts';
import { startChoosing } from './plot.ts';
import { cache, classes, jobs, operations, spenders, waiting } from './tables.ts';
import { retell, startTelling } from './tooltip.ts';
import { upstreamCard } from './upstream-card.ts';
import { UsageTable } from './usage.ts';

const sections: readonly [id: string, content: (state: ConsoleState) => Child][] = [
  ['glance', glance],
  ['upstreams', (state) => activeUpstreams(state).map((each) => upstreamCard(each, state))],
  ['waiting', waiting],
  ['spenders', spenders],
  ['jobs', jobs],
  ['classes', classes],
  ['operations', operations],
  ['cache', cache],
  ['events-table', (state) => events(state, search.value)],
];
const search = byId('events-search') as HTMLInputElement;
const usage = new UsageTable();
let latest: ConsoleState | null = null;

function draw(): void {
  if (!latest) return;
  showHeader(latest);
  for (const [id, content] of sections) {
    const section = byId(id);
    const shown = content(latest);
    section.hidden = shown === null;
    show(section, shown);
  }
  usage.update(latest);
  // By keys a box can be scrolled only while it has the focus, which would be a useless stop where it does not scroll.
  for (const box of document.querySelectorAll<HTMLElement>('.scroll')) {
    const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    if (scrolls) box.tabIndex = 0;
  }
  retell();
}

const feed = new Feed({
  state(state) {
    latest = state;
    draw();
  },
  trouble: showTrouble,
});
startTelling();
startChoosing(draw);
startAskingToken((token) => {
  usage.token = token;
  feed.useToken(token);
});
search.addEventListener('input', draw);
feed.start();
