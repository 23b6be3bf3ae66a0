import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '../../storage/text-file.ts';
import { removeFiles } from './job-places.ts';
import { turnFileNames } from './saved-job.ts';

/** A state that a process can request of a job that another one runs. */
export type TurnRequest = keyof typeof turnFileNames;

/** Requests a state of a job, until its owner has saved it. @throws Error of the file system. */
export async function requestTurn(folder: string, turn: TurnRequest): Promise<void> {
  await writeFile(join(folder, turnFileNames[turn]), '', { mode: 0o600 });
}

/** The state that was requested; `null` if none was. Costs a look at two files. @throws Error of the file system. */
export async function requestedTurn(folder: string): Promise<TurnRequest | null> {
  // A job that is canceled cannot be paused any more.
  for (const turn of ['CANCELED', 'PAUSED'] as const) {
    try {
      await stat(join(folder, turnFileNames[turn]));
      return turn;
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return null;
}

/** Removes what was requested. @throws Error of the file system. */
export async function removeTurnRequests(folder: string): Promise<void> {
  await removeFiles(folder, Object.values(turnFileNames));
}
