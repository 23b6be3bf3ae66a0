import type { Attack } from './attack.ts';
import { sendAll, type Target } from './target.ts';

const LARGE = '{ channels(first: 100) { nodes { items(first: 100) { nodes { __typename } } } } }';
/** Near the largest body that is taken. */
const LONG = 240_000;

/** The library of the protocol is loaded with the first call. */
const loaded = (target: Target) => target.callTool('graph_describe', {});

/** Attacks by the tools of agents, which have their own path to the graph. */
export const agentAttacks: readonly Attack[] = [
  {
    name: 'agent-reads',
    about: 'A thousand agents read the same list at once, and again.',
    mayCall: 1,
    prepare: loaded,
    run: (target) =>
      sendAll(2000, 1000, () =>
        target.callTool('graph_read', { operation: '{ channels(first: 100) { nodes { id } } }' }),
      ),
  },
  {
    name: 'agent-prices',
    about: 'Five hundred prices of 100 channels with 100 items each.',
    mayCall: 0,
    prepare: loaded,
    run: (target) => sendAll(500, 50, () => target.callTool('graph_price', { operation: LARGE })),
  },
  {
    name: 'agent-searches',
    about: 'Two thousand searches of the schema, and descriptions of its largest type.',
    mayCall: 0,
    prepare: loaded,
    run: (target) =>
      sendAll(2000, 200, (index) =>
        target.callTool(
          'graph_describe',
          index % 2 === 0 ? { find: 'a e i o u' } : { names: ['Query'] },
        ),
      ),
  },
  {
    name: 'agent-texts',
    about: 'A quarter of a megabyte as a key, an operation and its variables.',
    mayCall: 1,
    prepare: loaded,
    run: (target) => {
      const operation = '{ account { id } }';
      const long = 'x'.repeat(LONG);
      const calls = [
        ['graph_job', { action: 'start', operation, key: long }],
        ['graph_read', { operation: long }],
        ['graph_read', { operation, variables: { a: Array(LONG / 2).fill(1) } }],
      ] as const;
      return sendAll(320, 20, (index) => {
        const [name, args] = calls[index % calls.length] ?? calls[0];
        return target.callTool(name, args);
      });
    },
  },
];
