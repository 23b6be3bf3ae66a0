import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { formatTokenFile } from '../../../src/auth/token-file.ts';
import type { Role } from '../../../src/auth/viewer.ts';
import { type Door, openDoor, type Reply } from '../../support/door.ts';
import { tempFolder } from '../../support/folder.ts';
import { LISTED, OWN, type Sender } from './senders.ts';
import { type Sent, Wire } from './wire.ts';

/** How callers are known. */
export type Mode = 'none' | 'token' | 'jwt';

/** Those whose requests are refused come last. */
export const callers = ['viewer', 'editor', 'admin', 'brief', 'stranger', 'anonymous'] as const;

/** An operation to ask for. */
export interface Asked {
  readonly query: string;
  readonly variables?: object;
}

/** The token of `brief` is good until then, in milliseconds of the scene. */
const BRIEF_MS = 10_000;
/** How far clocks may be apart, and a second that is rounded. */
const TOLERANCE_MS = 6000;
const SECRET = '0123456789abcdef0123456789abcdef';
const CLAIMS = { AUTH_JWT_ISSUER: 'https://login.example', AUTH_JWT_AUDIENCE: 'gateway' };

/** A gateway whose callers' roles can be changed while it runs. */
export class Scene {
  readonly #folder = tempFolder();
  readonly #file = join(this.#folder, 'tokens.json');
  readonly #mode: Mode;
  readonly #roles = new Map<string, Role>([
    ['viewer', 'viewer'],
    ['editor', 'editor'],
    ['admin', 'admin'],
    ['brief', 'viewer'],
  ]);
  readonly #tokens = new Map<string, string>();
  door!: Door;
  wire!: Wire;

  constructor(mode: Mode) {
    this.#mode = mode;
  }

  async open(): Promise<this> {
    await this.#identify();
    const auth: Readonly<Record<Mode, Readonly<Record<string, string>>>> = {
      none: {},
      token: { AUTH_TOKENS_FILE: this.#file },
      jwt: { ...CLAIMS, AUTH_JWT_SECRET: SECRET },
    };
    this.door = await openDoor({
      AUTH_MODE: this.#mode,
      CORS_ORIGINS: LISTED,
      ...auth[this.#mode],
    });
    this.wire = new Wire(this.door.url);
    return this;
  }

  async close(): Promise<void> {
    this.wire.close();
    await this.door.close();
  }

  /** Gives a caller another role, and waits until a gateway that reads a file of tokens has noticed. */
  async change(caller: string, role: Role): Promise<void> {
    this.#roles.set(caller, role);
    await this.#identify();
    await this.door.clock.advance(1000);
  }

  /** Has the gateway learn an operation, so that it can be named by its id. */
  async persist({ query }: Asked): Promise<void> {
    const persistedQuery = { version: 1, sha256Hash: hash('sha256', query) };
    await this.#post({ query, extensions: { persistedQuery } });
  }

  /** Renames the first campaign through the gateway. */
  async rename(name: string): Promise<void> {
    const query =
      'mutation($name: String!) { updateCampaign(input: { id: "1", name: $name }) { __typename } }';
    const { errors } = await this.#post({ query, variables: { name } });
    if (errors.length > 0) throw new Error(JSON.stringify(errors));
  }

  /** Renames it behind the gateway’s back. */
  async renameElsewhere(name: string): Promise<void> {
    const { links } = this.door.sandbox;
    await fetch(`${links.url}/api/campaign/1/update`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${links.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name }),
    });
  }

  /** A request of this sender for an operation; `etag` is a tag that it knows. */
  request({ caller, headers, method }: Sender, asked: Asked, etag: string | null): Sent {
    const { query, variables = {} } = asked;
    const named = method.endsWith('by id') ? { documentId: hash('sha256', query) } : { query };
    const all: Record<string, string> = {
      ...headers,
      ...this.#authorization(caller),
      ...(etag === null ? {} : { 'if-none-match': etag }),
    };
    for (const [name, value] of Object.entries(all)) {
      all[name] = value.replace(OWN, this.door.url);
    }
    if (method.startsWith('POST')) {
      const body = JSON.stringify({ ...named, variables });
      all['content-type'] = 'application/json';
      return { method: 'POST', path: '/graphql', headers: all, body };
    }
    const parameters = new URLSearchParams({ ...named, variables: JSON.stringify(variables) });
    return { method: 'GET', path: `/graphql?${parameters}`, headers: all, body: null };
  }

  /** What a caller may do at this moment; `null` for one that is not let in, `undefined` where its token is about to end. */
  roleOf(caller: string): Role | null | undefined {
    if (this.#mode === 'none') return 'admin';
    const now = this.door.clock.now();
    if (caller === 'brief' && now >= BRIEF_MS)
      return now > BRIEF_MS + TOLERANCE_MS ? null : undefined;
    return this.#roles.get(caller) ?? null;
  }

  #post(body: object): Promise<Reply> {
    const headers = { 'content-type': 'application/json', ...this.#authorization('admin') };
    return this.door.send('/graphql', { method: 'POST', headers, body: JSON.stringify(body) });
  }

  #authorization(caller: string): Readonly<Record<string, string>> {
    if (caller === 'anonymous') return {};
    return { authorization: `Bearer ${this.#tokens.get(caller) ?? caller}` };
  }

  async #identify(): Promise<void> {
    if (this.#mode === 'token') {
      const tokens = [...this.#roles].map(([name, role]) => ({
        name,
        role,
        sha256: hash('sha256', name),
        ...(name === 'brief' ? { expires: new Date(EPOCH_MS + BRIEF_MS).toISOString() } : {}),
      }));
      writeFileSync(this.#file, formatTokenFile(tokens));
    }
    if (this.#mode !== 'jwt') return;
    for (const [name, role] of this.#roles) {
      const expires = EPOCH_MS + (name === 'brief' ? BRIEF_MS : 3_600_000_000);
      this.#tokens.set(name, await signed(name, role, expires, SECRET));
    }
    const forged = await signed('admin', 'admin', EPOCH_MS + 3_600_000_000, SECRET.toUpperCase());
    this.#tokens.set('stranger', forged);
  }
}

/** Where the virtual clock begins. */
const EPOCH_MS = Date.UTC(2030, 0, 1);

function signed(name: string, role: Role, expiresMs: number, secret: string): Promise<string> {
  return new SignJWT({ roles: [role] })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuer(CLAIMS.AUTH_JWT_ISSUER)
    .setAudience(CLAIMS.AUTH_JWT_AUDIENCE)
    .setSubject(name)
    .setExpirationTime(Math.floor(expiresMs / 1000))
    .sign(new TextEncoder().encode(secret));
}
