import type { EvidenceLists } from '../../src/upstream/idempotency/looks/evidence-lists.ts';

/** For writes without evidence: no list is looked at. */
export const noLists: EvidenceLists = {
  cachedEnd: () => null,
  pageCall: () => {
    throw new Error('a list was looked at');
  },
};
