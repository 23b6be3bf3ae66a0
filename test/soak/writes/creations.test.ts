import { it } from 'vitest';
import { tempFolder } from '../../support/folder.ts';
import { makeOnce, TIME_MS } from './make-once.ts';

it(
  'creations with keys are made once when the one gateway is killed right after it has sent them',
  async () => {
    const folder = tempFolder();
    await makeOnce({ env: { STATE_DIR: folder }, processes: 1 });
  },
  TIME_MS,
);
