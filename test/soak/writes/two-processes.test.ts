import { setTimeout as pause } from 'node:timers/promises';
import { it } from 'vitest';
import { describeWith, postgresServer } from '../../support/needs.ts';
import { PostgresServer } from '../../support/postgres-server.ts';
import { makeOnce, TIME_MS } from './make-once.ts';

/** `npm run soak:writes` fails 50 times. */
const failures = Number(process.env['WRITES_FAILURES'] ?? 2);

describeWith(postgresServer, 'Creations with keys are made once', () => {
  it(
    `by two processes that are killed, while PostgreSQL fails ${failures} times`,
    async () => {
      const server = await PostgresServer.run();
      const fail = async (): Promise<void> => {
        await server.kill();
        // Longer or shorter than a caller, and the store, wait.
        await pause(Math.random() * 1500);
        await server.start();
      };
      try {
        await makeOnce({ env: { DATABASE_URL: server.url }, processes: 2, failures, fail });
      } finally {
        await server.close();
      }
    },
    TIME_MS,
  );
});
