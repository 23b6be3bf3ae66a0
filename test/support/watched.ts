import type { ExecutionMode } from '../../src/upstream/operation.ts';

/** The mode of an operation whose reads show no interest by themselves, without watchers. */
export const watched: ExecutionMode = {
  kind: 'watched',
  watcher: {
    begin: () => () => {},
    look: () => {},
  },
};
