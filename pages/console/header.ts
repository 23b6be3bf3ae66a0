import type { ConsoleState } from '../../src/console/console-state.ts';
import { byId, html, show } from '../dom.ts';
import { counted, timePassed } from '../words.ts';
import { failuresInWords } from './failures.ts';
import { type ReasonInWords, reasonsInWords } from './reasons.ts';

/** The head of the page: whether all is well, and why not, in words. */
export function showHeader(state: ConsoleState): void {
  const reasons = reasonsInWords(state);
  const { kind, word } = verdict(state, reasons);
  showPill(word, kind);
  show(byId('verdict'), sentenceFor(state, reasons));
  show(byId('version'), state.version);
  show(byId('facts'), facts(state));
  show(byId('reasons'), reasons.map(reasonLine));
  show(
    byId('links'),
    state.links.graphiql ? html('a', { href: './' }, 'GraphiQL') : null,
    state.links.schema ? html('a', { href: './schema.graphql' }, 'Schema') : null,
    html('a', { href: './metrics' }, 'Metrics'),
  );
  // Who has given a token may take it back.
  byId('viewer').hidden = state.named && token().value === '';
}

/** Says what is wrong while no state comes; `null` when all is well again. */
export function showTrouble(what: string | null): void {
  const trouble = byId('trouble');
  trouble.hidden = what === null;
  show(trouble, what);
  document.body.classList.toggle('lost', what !== null);
  if (what === null) return;
  showPill('Not connected', 'unknown');
  // It may be the token that is wrong.
  byId('viewer').hidden = false;
}

/** Passes on the token that a viewer enters. */
export function startAskingToken(useToken: (token: string) => void): void {
  byId('viewer').addEventListener('submit', (event) => {
    event.preventDefault();
    useToken(token().value.trim());
    byId('viewer').removeAttribute('open');
  });
}

function token(): HTMLInputElement {
  return byId('token') as HTMLInputElement;
}

function showPill(word: string, kind: string): void {
  const pill = byId('state');
  show(pill, word);
  pill.className = `pill ${kind}`;
  document.title = `${word} · Gateway console`;
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

function reasonLine({ advice, docs, grave, key, what }: ReasonInWords): HTMLElement {
  return html(
    'li',
    { 'data-key': key, class: grave ? 'grave' : null },
    html('b', {}, what),
    ` ${advice} See `,
    html('code', {}, docs),
    '.',
  );
}
