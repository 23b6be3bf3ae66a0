import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take seconds, the longest first, and by turns those that compute and those that wait for a process: begun
 * last, one of them would run alone at the end. Where they stand in this list is all that it decides.
 */
const LONGEST = [
  'test/e2e/start',
  'test/soak/handovers',
  'test/release/release',
  'test/e2e/package/nodes',
  'test/e2e/dashboard/export',
  'test/docs/typed-page',
  'test/e2e/dashboard/budget',
  'test/e2e/owner/postgres',
  'test/e2e/graphiql/budget',
  'test/soak/writes/two-processes',
  'test/e2e/graphiql/access',
  'test/docs/persisted',
  'test/e2e/dashboard/layout',
  'test/e2e/dockerfile',
  'test/e2e/export-command',
  'test/answers/exact',
  'test/e2e/process',
  'test/graph/mutations/answered',
  'test/e2e/log-output',
  'test/upstream/budget/classes',
  'test/answers/envelopes',
  'test/graphql/dry-run-law',
  'test/series/simulation',
  'test/http/socket/stall-guard',
  'test/live/budget',
  'test/graph/paging/paging',
  'test/live/shares',
  'test/observe/standard-output',
  'test/e2e/jwt',
  'test/console/state',
  'test/live/law',
  'test/live/viewing',
  'test/e2e/random-operations',
  'test/e2e/audit',
  'test/files/trickle',
  'test/http/drain-unread',
  'test/graphql/dry-run-forecast',
  'test/client/retry',
  'test/graph/consistency/read-your-writes',
  'test/e2e/idle',
].map((file) => `/${file}.test.ts`);

/** Within a project, begins with the files that are known to take long. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((file) => moduleId.endsWith(file));
      return at < 0 ? LONGEST.length : at;
    };
    return sorted.sort((a, b) => (a.project.name === b.project.name ? rank(a) - rank(b) : 0));
  }
}
