import { it } from 'vitest';
import { describeWith, postgresServer } from '../../support/needs.ts';
import { PostgresServer } from '../../support/postgres-server.ts';
import { createDice } from '../load.ts';
import { exportTheSame, KilledGateway } from './killed-gateway.ts';

/** `npm run soak:jobs` kills 50. */
const kills = Number(process.env['JOBS_KILLS'] ?? 2);

describeWith(postgresServer, 'Two processes over PostgreSQL', () => {
  it('export the same file after handovers', { timeout: 60_000 + 4000 * kills }, async () => {
    const servers: PostgresServer[] = [];
    const begin = async () => {
      const server = await PostgresServer.run();
      servers.push(server);
      return KilledGateway.start({ DATABASE_URL: server.url }, 2);
    };
    try {
      await exportTheSame(kills, createDice(1), begin);
    } finally {
      for (const server of servers) await server.close();
    }
  });
});
