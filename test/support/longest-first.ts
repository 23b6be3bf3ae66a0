import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take seconds, the longest first, and by turns those that compute and those that wait for a process: begun
 * last, one of them would run alone at the end. Where they stand in this list is all that it decides.
 */
const LONGEST = [
  'test/e2e/dashboard/budget',
  'test/e2e/start',
  'test/e2e/graphiql/budget',
  'test/e2e/dockerfile',
  'test/e2e/graphiql/page',
  'test/release/release',
  'test/e2e/same-bytes',
  'test/docs/persisted',
  'test/docs/typed-page',
  'test/e2e/dashboard/forms',
  'test/answers/exact',
  'test/e2e/process',
  'test/e2e/log-output',
  'test/http/socket/stall-guard',
  'test/live/budget',
  'test/graph/paging/paging',
  'test/live/shares',
  'test/observe/standard-output',
  'test/answers/envelopes',
  'test/e2e/restarts',
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
