import type { ConsoleState } from '../../src/console/console-state.ts';
import { byId, html, keyedChildren, setAttribute, setText } from './dom.ts';
import { failuresInWords } from './failures.ts';
import { type ReasonInWords, reasonsInWords } from './reasons.ts';
import { counted, timePassed } from './words.ts';

/** The head of the page: whether all is well, and why not, in words. */
export function createHeader(useToken: (token: string) => void): {
  update(state: ConsoleState): void;
  trouble(sentence: string | null): void;
} {
  const pill = byId('state');
  const sentence = byId('verdict');
  const trouble = byId('trouble');
  const viewer = byId('viewer');
  const form = viewer.querySelector('form');
  const field = byId('token') as HTMLInputElement;
  form?.addEventListener('submit', (event) => {
    event.preventDefault();
    useToken(field.value.trim());
    viewer.removeAttribute('open');
  });
  const showReasons = keyedChildren(byId('reasons'), ({ key }) => key, reasonLine);
  const showLinks = keyedChildren(byId('links'), ({ path }) => path, linkTo);
  return {
    update(state) {
      const reasons = reasonsInWords(state);
      const { kind, word } = verdict(state, reasons);
      setText(sentence, sentenceFor(state, reasons));
      setText(pill, word);
      setAttribute(pill, 'class', `pill ${kind}`);
      document.title = `${word} · Gateway console`;
      setText(byId('version'), state.version);
      setText(byId('facts'), facts(state));
      showReasons(reasons);
      showLinks(links(state));
      // Who has given a token may take it back.
      viewer.hidden = state.named && field.value === '';
    },
    trouble(what) {
      trouble.hidden = what === null;
      setText(trouble, what ?? '');
      document.body.classList.toggle('lost', what !== null);
      if (what === null) return;
      setText(pill, 'Not connected');
      setAttribute(pill, 'class', 'pill unknown');
      document.title = 'Not connected · Gateway console';
      // It may be the token that is wrong.
      viewer.hidden = false;
    },
  };
}

/** Red where a fifth of the operations fail, yellow from a twentieth on, and where `/readyz` says that it is degraded. */
function verdict(
  { readiness, recent: { level } }: ConsoleState,
  reasons: readonly ReasonInWords[],
): { kind: 'well' | 'degraded' | 'unready'; word: string } {
  if (!readiness.ready) return { kind: 'unready', word: 'Not ready' };
  if (level === 'failing') return { kind: 'unready', word: 'Failing' };
  return reasons.length > 0 || level === 'degraded'
    ? { kind: 'degraded', word: 'Degraded' }
    : { kind: 'well', word: 'Ready' };
}

/** Why it is so, in a sentence or two. */
function sentenceFor(state: ConsoleState, [reason]: readonly ReasonInWords[]): string {
  const failures = failuresInWords(state);
  if (!reason) return failures;
  const { failed } = state.recent;
  return state.readiness.ready && failed > 0 ? `${failures} ${reason.what}` : reason.what;
}

function facts({ live, uptimeMs }: ConsoleState): string {
  const up = `uptime ${timePassed(uptimeMs)}`;
  if (!live || live.streams === 0) return up;
  return `${up} · ${counted(live.groups, 'live query', 'live queries')}, ${counted(live.streams, 'stream')}`;
}

function reasonLine(): { node: HTMLElement; update(reason: ReasonInWords): void } {
  const what = html('b');
  const advice = html('span');
  const docs = html('code');
  const node = html('li', {}, what, ' ', advice, ' See ', docs, '.');
  return {
    node,
    update(reason) {
      node.classList.toggle('grave', reason.grave);
      setText(what, reason.what);
      setText(advice, reason.advice);
      setText(docs, reason.docs);
    },
  };
}

interface Link {
  readonly path: string;
  readonly word: string;
}

function links({ links }: ConsoleState): Link[] {
  return [
    ...(links.graphiql ? [{ path: './', word: 'GraphiQL' }] : []),
    ...(links.schema ? [{ path: './schema.graphql', word: 'Schema' }] : []),
    { path: './metrics', word: 'Metrics' },
  ];
}

function linkTo(): { node: HTMLElement; update(link: Link): void } {
  const node = html('a');
  return {
    node,
    update({ path, word }) {
      setAttribute(node, 'href', path);
      setText(node, word);
    },
  };
}
