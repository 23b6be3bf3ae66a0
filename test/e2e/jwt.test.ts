import { closeSync, fstatSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { expect, it } from 'vitest';
import { tempFolder } from '../support/folder.ts';
import { GATEWAY, start } from '../support/process.ts';
import { askRaw } from '../support/raw-reply.ts';

const secret = 'a secret of more than 32 letters'.replaceAll(' ', '-');
const issuer = 'https://login.example';
const audience = 'links-market-gateway';

function sign(sub: string): Promise<string> {
  return new SignJWT({ roles: ['viewer'] })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(sub)
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(secret));
}

/** Asks on a connection of its own, which is closed behind the answer. */
async function ask(url: string, token: string): Promise<number> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  const body = '{"query":"{ account { username } }"}';
  return (await askRaw(`${url}/graphql`, { method: 'POST', headers, body })).status;
}

/** What a file ends with: of one that is written, all of it takes long to read. */
function lastByte(path: string): string {
  const file = openSync(path, 'r');
  const byte = Buffer.alloc(1);
  readSync(file, byte, { position: Math.max(0, fstatSync(file).size - 1) });
  closeSync(file);
  return byte.toString();
}

it('a token that was verified is nowhere in the heap, and who sent it is', async () => {
  const folder = tempFolder();
  const flags = ['--heapsnapshot-signal=SIGUSR2', `--diagnostic-dir=${folder}`];
  const gateway = start(process.execPath, [...flags, ...GATEWAY], {
    cwd: '.',
    env: {
      PORT: '0',
      STATE_DIR: 'off',
      AUTH_MODE: 'jwt',
      AUTH_JWT_SECRET: secret,
      AUTH_JWT_ISSUER: issuer,
      AUTH_JWT_AUDIENCE: audience,
    },
  });
  try {
    const url = (await gateway.says(/(http:\/\/localhost:\d+)\/graphql/))[1] ?? '';
    const token = await sign('the-sender');
    // The first takes long, so that the others wait for turns of the event loop.
    const together = await Promise.all(Array.from({ length: 20 }, () => ask(url, token)));
    expect(together).toEqual(together.map(() => 200));
    for (let time = 0; time < 3; time += 1) expect(await ask(url, token)).toBe(200);
    // What Node keeps of a request, it keeps of the last one.
    for (let time = 0; time < 3; time += 1) {
      expect(await ask(url, await sign(`another-${time}`))).toBe(200);
    }
    gateway.child.kill('SIGUSR2');
    const snapshots = () => readdirSync(folder).map((file) => join(folder, file));
    await expect.poll(() => snapshots().map(lastByte)).toEqual(['}']);
    const heap = snapshots()
      .map((path) => readFileSync(path, 'latin1'))
      .join('');
    const [, claims = '', signature = ''] = token.split('.');
    expect(heap).toContain('the-sender');
    // The end of the claims differs by sender; what is before it is the same in all of them.
    expect(heap.includes(claims.slice(-40))).toBe(false);
    expect(heap.includes(signature)).toBe(false);
  } finally {
    gateway.child.kill('SIGKILL');
    await gateway.ended;
  }
});
