import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { formatTokenFile, type KnownToken } from '../../src/auth/token-file.ts';
import { ConfigError } from '../../src/config/config.ts';
import { type Door, openDoor } from '../support/door.ts';
import { tempFolder } from '../support/folder.ts';

const CLASSES = { CALLER_CLASSES: '{"agent": {"weight": 1}, "nightly": {"weight": 0}}' };
const folder = tempFolder();
const file = join(folder, 'tokens.json');

async function open(env: Readonly<Record<string, string>>): Promise<Door> {
  const door = await openDoor({ ...CLASSES, ...env });
  onTestFinished(() => door.close());
  return door;
}

async function classOf(door: Door, token: string): Promise<unknown> {
  const { data } = await door.ask('{ rateLimit { callerClass } }', token);
  return (data?.['rateLimit'] as { callerClass: string } | undefined)?.callerClass;
}

describe('the class of a token', () => {
  const env = { AUTH_MODE: 'token', AUTH_TOKENS_FILE: file };
  const known = (name: string, more: Partial<KnownToken> = {}): KnownToken => ({
    name,
    role: 'viewer',
    sha256: hash('sha256', name),
    ...more,
  });
  const keep = (...tokens: KnownToken[]) => writeFileSync(file, formatTokenFile(tokens));

  it('is that of the file, or the default one', async () => {
    keep(known('bot', { class: 'agent' }), known('person'), known('named', { class: 'default' }));
    const door = await open(env);
    expect(
      await Promise.all(['bot', 'person', 'named'].map((name) => classOf(door, name))),
    ).toEqual(['agent', 'default', 'default']);
  });

  it('must be configured', async () => {
    keep(known('person'), known('bot', { class: 'agnet' }));
    const fault = openDoor({ ...CLASSES, ...env });
    await expect(fault).rejects.toBeInstanceOf(ConfigError);
    await expect(fault).rejects.toThrow(
      'tokens[1].class is not a class of CALLER_CLASSES (agent, nightly)',
    );
  });

  it('changes with the file', async () => {
    keep(known('bot'));
    const door = await open(env);
    keep(known('bot', { class: 'nightly' }));
    await door.clock.advance(1000);
    expect(await classOf(door, 'bot')).toBe('nightly');
  });
});

describe('the class in a claim', () => {
  const secret = 'a-secret-of-more-than-32-letters';
  const sign = (claims: Readonly<Record<string, unknown>>) =>
    new SignJWT({ roles: ['viewer'], ...claims })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer('https://login.example')
      .setAudience('gateway')
      .setSubject('mia')
      .setExpirationTime(Date.UTC(2030, 0, 1) / 1000 + 3600)
      .sign(new TextEncoder().encode(secret));
  const openFor = (claim: string) =>
    open({
      AUTH_MODE: 'jwt',
      AUTH_JWT_SECRET: secret,
      AUTH_JWT_ISSUER: 'https://login.example',
      AUTH_JWT_AUDIENCE: 'gateway',
      ...(claim && { AUTH_JWT_CLASS_CLAIM: claim }),
    });

  it.each<[claim: string, claims: Readonly<Record<string, unknown>>, callerClass: string]>([
    ['tier', { tier: 'agent' }, 'agent'],
    ['tier', { tier: 'staff nightly agent' }, 'nightly'],
    ['tier', { tier: ['staff', 7, 'agent', 'nightly'] }, 'agent'],
    ['app.tier', { app: { tier: ['agent'] } }, 'agent'],
    ['https://example.com/tier', { 'https://example.com/tier': 'agent' }, 'agent'],
    ['tier', { tier: 'staff,nightly' }, 'nightly'],
    ['app.tier', { app: 'agent' }, 'default'],
    ['app.tier', { app: null }, 'default'],
    ['app.tier', { app: ['agent'] }, 'default'],
    ['tier', {}, 'default'],
    ['tier', { tier: 'default' }, 'default'],
    ['tier', { tier: 'staff' }, 'default'],
    ['tier', { tier: 'AGENT' }, 'default'],
    ['tier', { tier: { agent: true } }, 'default'],
    ['tier', { tier: null }, 'default'],
    ['tier', { tier: [['agent']] }, 'default'],
    ['constructor', { tier: 'agent' }, 'default'],
    ['', { tier: 'agent' }, 'default'],
  ])('"%s" of %j is %s', async (claim, claims, callerClass) => {
    const door = await openFor(claim);
    expect(await classOf(door, await sign(claims))).toBe(callerClass);
  });
});
