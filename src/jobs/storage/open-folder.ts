import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../scheduling/clock.ts';
import { type JobRecord, parseJobRecord } from '../job.ts';
import { JobFolder } from './job-folder.ts';

/** The folder of the jobs of a gateway. */
export interface OpenedFolder {
  /** `null` if jobs cannot be stored. */
  readonly folder: JobFolder<JobRecord> | null;
  /** Removes a temporary folder. */
  close(): Promise<void>;
}

interface OpenOptions {
  /** Jobs of the sandbox end with the process, in a folder for temporary files. */
  readonly sandbox: boolean;
  /** The configured folder; `null` for one in `stateDir`. */
  readonly dir: string | null;
  /** `STATE_DIR`; `null` if it is not this process's own. Without it, keyed writes would not survive a restart. */
  readonly stateDir: string | null;
  readonly isOwned: () => boolean;
  readonly maxBytes: number;
  readonly clock: Clock;
  /** Reports to the operator, in one sentence. */
  readonly complain: (sentence: string) => void;
}

/** Opens the folder of the jobs; it is created when it is loaded. Costs no upstream request. */
export function openJobFolder(options: OpenOptions): OpenedFolder {
  const { clock, complain, isOwned, maxBytes, sandbox: isTemporary } = options;
  const root = isTemporary ? join(tmpdir(), `jobs-${randomUUID()}`) : rootOf(options);
  if (root === null) return { folder: null, close: async () => {} };
  const folder = new JobFolder<JobRecord>({
    root,
    isOwned: isTemporary ? () => true : isOwned,
    clock,
    maxBytes,
    parse: parseJobRecord,
    outputName: ({ format }) => (format === 'CSV' ? 'data.csv' : 'data.jsonl'),
    complain,
  });
  return {
    folder,
    async close() {
      if (isTemporary) await rm(root, { recursive: true, force: true });
    },
  };
}

function rootOf({ dir, stateDir }: OpenOptions): string | null {
  return stateDir && (dir ?? join(stateDir, 'jobs'));
}
