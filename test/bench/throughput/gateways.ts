import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { formatTokenFile } from '../../../src/auth/token-file.ts';
import { DASHBOARD } from './requests.ts';
import { type Server, startGateway } from './servers.ts';

/** By which id the dashboard is persisted. */
export const PERSISTED_ID = hash('sha256', DASHBOARD);
const TOKEN = 'gw_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG';
const SECRET = '0123456789abcdef0123456789abcdef';
const ISSUER = 'https://login.example.com/realms/links';
const AUDIENCE = 'links-market-gateway';

/** What all gateways have in common: nothing of the dashboard has to be refreshed while it is measured. */
const everywhere = {
  LOG_LEVEL: 'warn',
  TTLS: '{"account": 3600000, "channels": 3600000, "channelItems": 3600000}',
};

/** Gateways of every configuration that a row needs, each started when it is first asked for. */
export class Gateways {
  readonly #folder = mkdtempSync(join(tmpdir(), 'bench-throughput-'));
  readonly #running = new Map<Configuration, Promise<Gateway>>();
  readonly #origins: readonly string[];
  #keys: HttpServer | null = null;

  /** Pages of these origins may call. */
  constructor(origins: readonly string[]) {
    this.#origins = origins;
  }

  get(configuration: Configuration): Promise<Gateway> {
    const running = this.#running.get(configuration) ?? this.#start(configuration);
    this.#running.set(configuration, running);
    return running;
  }

  /** Those that run. */
  all(): Promise<readonly Gateway[]> {
    return Promise.all(this.#running.values());
  }

  async stop(): Promise<void> {
    for (const { server } of await this.all()) await server.stop();
    this.#keys?.close();
    rmSync(this.#folder, { recursive: true });
  }

  async #start(configuration: Configuration): Promise<Gateway> {
    const { env, authorization = null } = await this.#settings(configuration);
    const server = await startGateway({
      ...everywhere,
      CORS_ORIGINS: this.#origins.join(),
      ...env,
    });
    return { configuration, server, authorization, restMb: server.memoryMb() };
  }

  async #settings(configuration: Configuration): Promise<Settings> {
    switch (configuration) {
      case 'info':
        return { env: { AUTH_MODE: 'none', LOG_LEVEL: 'info' } };
      case 'persisted': {
        const PERSISTED_OPERATIONS_FILE = this.#write('operations.json', {
          [PERSISTED_ID]: DASHBOARD,
        });
        return { env: { AUTH_MODE: 'none', PERSISTED_OPERATIONS_FILE } };
      }
      case 'token': {
        const token = { name: 'web', role: 'viewer', sha256: hash('sha256', TOKEN) } as const;
        const file = join(this.#folder, 'tokens.json');
        writeFileSync(file, formatTokenFile([token]));
        return {
          env: { AUTH_MODE: 'token', AUTH_TOKENS_FILE: file },
          authorization: `Bearer ${TOKEN}`,
        };
      }
      case 'jwt-secret':
        return jwt(
          { AUTH_JWT_SECRET: SECRET },
          await claims('HS256').sign(new TextEncoder().encode(SECRET)),
        );
      case 'jwt-keys': {
        const { publicKey, privateKey } = await generateKeyPair('RS256');
        const url = await this.#serveKeys({ ...(await exportJWK(publicKey)), kid: 'key' });
        return jwt({ AUTH_JWT_JWKS_URL: url }, await claims('RS256').sign(privateKey));
      }
      default:
        return { env: { AUTH_MODE: 'none' } };
    }
  }

  #write(name: string, content: object): string {
    const file = join(this.#folder, name);
    writeFileSync(file, JSON.stringify(content));
    return file;
  }

  async #serveKeys(key: object): Promise<string> {
    const keys = JSON.stringify({ keys: [key] });
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(keys);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.#keys = server;
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
  }
}

/** How a gateway is set up. */
export type Configuration = 'open' | 'info' | 'persisted' | 'token' | 'jwt-secret' | 'jwt-keys';

/** A gateway that runs. */
export interface Gateway {
  readonly configuration: Configuration;
  readonly server: Server;
  /** By which header its caller is known; `null` where everybody may ask. */
  readonly authorization: string | null;
  /** The memory that it held before it was asked for anything, in MB. */
  readonly restMb: number;
}

interface Settings {
  readonly env: Readonly<Record<string, string>>;
  readonly authorization?: string;
}

function jwt(keys: Readonly<Record<string, string>>, token: string): Settings {
  const AUTH = { AUTH_MODE: 'jwt', AUTH_JWT_ISSUER: ISSUER, AUTH_JWT_AUDIENCE: AUDIENCE };
  return { env: { ...AUTH, ...keys }, authorization: `Bearer ${token}` };
}

/** What identity providers put into the tokens of a page: about 600 bytes. */
function claims(alg: string): SignJWT {
  return new SignJWT({
    roles: ['viewer'],
    azp: 'dashboard',
    scope: 'openid profile email',
    session_state: '5c2f6a0e-1b1f-4f0e-8f6e-0d8b7d0c9a11',
    name: 'Mia Example',
    preferred_username: 'mia',
    email: 'mia@example.com',
    email_verified: true,
  })
    .setProtectedHeader({ alg, typ: 'JWT', kid: 'key' })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setSubject('f3b8a1f2-7d57-4f39-9a55-3f5cf4a1d0c7')
    .setJti('0b8ad2a5-3d5c-4a86-a1f7-6f6fb1c8a9d3')
    .setIssuedAt()
    .setNotBefore('-1s')
    .setExpirationTime('1h');
}
