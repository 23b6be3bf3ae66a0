import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { faults } from './faults.ts';

const real = { LINKS_BASE_URL: 'https://links.example', LINKS_API_KEY: 'k1' };
const jwt = {
  ...real,
  AUTH_MODE: 'jwt',
  AUTH_JWT_JWKS_URL: 'https://login.example/keys',
  AUTH_JWT_ISSUER: 'https://login.example',
  AUTH_JWT_AUDIENCE: 'gateway',
};

function without(env: Readonly<Record<string, string>>, ...names: string[]) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));
}

describe('who may ask', () => {
  it('must be said when a real upstream is configured', () => {
    expect(faults(real)).toEqual([expect.stringContaining('Set AUTH_MODE=token')]);
    expect(loadConfig({ ...real, AUTH_MODE: 'none' }).auth).toEqual({ mode: 'none' });
  });

  it('may go unsaid for made-up data, wherever it listens', () => {
    expect(loadConfig({ HOST: '0.0.0.0', SANDBOX: 'on' })).toMatchObject({
      sandbox: true,
      auth: { mode: 'none' },
    });
  });

  it('is not silently open under a misspelled mode', () => {
    expect(faults({ ...real, AUTH_MODE: 'nobody' })).toEqual([
      'AUTH_MODE="nobody" is not an allowed value. Set it to one of none, token, jwt, passthrough.',
    ]);
  });

  it.each([
    ['AUTH_TOKENS_FILE', 'token'],
    ['AUTH_JWT_ISSUER', 'jwt'],
    ['AUTH_JWT_SECRET_FILE', 'jwt'],
  ])('is not silently open when %s is set and its mode is not', (name, mode) => {
    expect(faults({ [name]: 'x' })).toEqual([
      `${name} is set, but AUTH_MODE is not ${mode}. Set AUTH_MODE=${mode}, or remove ${name}.`,
    ]);
  });

  it('asks about a misspelled setting', () => {
    expect(faults({ AUTH_TOKEN_FILE: 'x' })).toEqual([
      'AUTH_TOKEN_FILE is not a setting. Did you mean AUTH_TOKENS_FILE?',
    ]);
  });
});

describe('AUTH_MODE=token', () => {
  const token = { ...real, AUTH_MODE: 'token', AUTH_TOKENS_FILE: 'tokens.json' };

  it('needs its file, which must hold tokens', () => {
    expect(faults(without(token, 'AUTH_TOKENS_FILE'))).toEqual([
      expect.stringContaining('links-market-gateway token'),
    ]);
    expect(faults(token, () => '{}')).toEqual([
      expect.stringContaining('cannot be used (it has no list "tokens")'),
    ]);
    expect(
      faults(token, () => {
        throw Object.assign(new Error('no'), { code: 'ENOENT' });
      }),
    ).toEqual([expect.stringContaining('(ENOENT)')]);
    expect(loadConfig(token, () => '{"tokens": []}').auth).toEqual({
      mode: 'token',
      file: 'tokens.json',
    });
  });
});

describe('A file of tokens', () => {
  const token = { ...real, AUTH_MODE: 'token', AUTH_TOKENS_FILE: 'tokens.json' };
  const sha256 = 'a'.repeat(64);
  const found = (...tokens: object[]) => faults(token, () => JSON.stringify({ tokens }));
  const one = { name: 'web', role: 'viewer', sha256 };
  const ofClass = (callerClass: unknown, classes: string) =>
    faults({ ...token, CALLER_CLASSES: classes }, () =>
      JSON.stringify({ tokens: [{ ...one, class: callerClass }] }),
    );

  it.each([
    [{ ...one, name: 'x'.repeat(64) }],
    [{ ...one, name: 'mia@example.com_2-a' }],
    [{ ...one, role: 'admin', expires: '2030-01-31' }],
    [{ ...one, expires: '2030-01-31T10:15Z' }],
    [{ ...one, expires: '2030-01-31T10:15:20.5+02:00' }],
  ])('may have %j in it', (each) => {
    expect(found(each)).toEqual([]);
  });

  const name = 'tokens[0].name is not';
  const digits = 'tokens[0].sha256 is not a string of 64 hexadecimal digits';
  const date = 'tokens[0].expires is not a date';
  it.each([
    [{ ...one, name: '' }, name],
    [{ ...one, name: 'x'.repeat(65) }, name],
    [{ ...one, name: 'two words' }, name],
    [{ ...one, name: 'web\n' }, name],
    [{ ...one, name: 7 }, name],
    [{ ...one, role: 'root' }, 'tokens[0].role is not one of'],
    [{ ...one, role: 'Admin' }, 'tokens[0].role is not one of'],
    [{ ...one, role: undefined }, 'tokens[0].role is not one of'],
    [{ ...one, sha256: `${sha256}a` }, digits],
    [{ ...one, sha256: sha256.slice(1) }, digits],
    [{ ...one, sha256: sha256.toUpperCase() }, digits],
    [{ ...one, sha256: [sha256] }, digits],
    [{ ...one, expires: '' }, date],
    [{ ...one, expires: null }, date],
    [{ ...one, expires: '2030-13-01' }, date],
    // In which zone is not said.
    [{ ...one, expires: '2030-01-31T10:15' }, date],
    [{ ...one, expires: '2030-01-31 and later' }, date],
    [{ ...one, expires: 'on 2030-01-31' }, date],
    [{ ...one, expires: 1_900_000_000 }, date],
    [null, 'tokens[0] is not an object'],
    [['web'], 'tokens[0].name is not'],
  ])('may not have %j in it', (each, fault) => {
    expect(found(each as object)).toEqual([expect.stringContaining(fault)]);
  });

  it.each([
    ['agent', '{"agent": {}}'],
    ['default', '{"agent": {}}'],
    ['default', ''],
  ])('may have the class %s with CALLER_CLASSES=%s', (callerClass, classes) => {
    expect(ofClass(callerClass, classes)).toEqual([]);
  });

  const known = 'tokens[0].class is not a class of CALLER_CLASSES (agent, nightly)';
  it.each([
    ['agnet', known],
    ['Agent', known],
    ['constructor', known],
    ['', known],
    [null, known],
    [['agent'], known],
  ])('may not have the class %j', (callerClass, fault) => {
    expect(ofClass(callerClass, '{"agent": {}, "nightly": {}}')).toEqual([
      expect.stringContaining(`AUTH_TOKENS_FILE cannot be used (${fault})`),
    ]);
  });

  it('may only have the class of agents where none is configured', () => {
    expect(ofClass('agent', '')).toEqual([]);
    expect(ofClass('nightly', '')).toEqual([
      expect.stringContaining('(tokens[0].class is not a class of CALLER_CLASSES (agent))'),
    ]);
  });

  it('is not blamed for a class of CALLER_CLASSES that cannot be read', () => {
    const unreadable = '{"agent": {"wieght": 1}}';
    expect(ofClass('agent', unreadable)).toEqual([
      expect.stringMatching(/^CALLER_CLASSES has an unknown member "wieght"/),
    ]);
    expect(ofClass('Agent 1', unreadable)).toEqual([
      expect.stringMatching(/^CALLER_CLASSES has an unknown member "wieght"/),
      expect.stringContaining('(tokens[0].class is not the name of a class, such as agent)'),
    ]);
  });

  it('names each token once', () => {
    expect(found(one, { ...one, name: 'app' }, one)).toEqual([
      expect.stringContaining('two tokens are named "web"'),
    ]);
    expect(found(one, { ...one, name: 'WEB' })).toEqual([]);
  });
});

describe('AUTH_MODE=jwt', () => {
  it('takes the keys of a provider, or a secret', () => {
    expect(loadConfig(jwt).auth).toEqual({
      mode: 'jwt',
      keys: { jwksUrl: 'https://login.example/keys' },
      issuer: 'https://login.example',
      audience: 'gateway',
      rolesClaim: 'roles',
      classClaim: '',
    });
    const secret = { ...without(jwt, 'AUTH_JWT_JWKS_URL'), AUTH_JWT_SECRET: 's'.repeat(32) };
    expect(loadConfig(secret).auth).toMatchObject({ keys: { secret: 's'.repeat(32) } });
  });

  it('reports all missing settings together', () => {
    expect(faults({ ...real, AUTH_MODE: 'jwt' })).toEqual([
      expect.stringContaining('either AUTH_JWT_JWKS_URL or AUTH_JWT_SECRET'),
      expect.stringMatching(/^AUTH_MODE=jwt requires AUTH_JWT_ISSUER/),
      expect.stringMatching(/^AUTH_MODE=jwt requires AUTH_JWT_AUDIENCE/),
    ]);
  });

  it('wants one of keys and secret, a secret that is long, and keys that cannot be swapped', () => {
    expect(faults({ ...jwt, AUTH_JWT_SECRET: 's'.repeat(32) })).toEqual([
      expect.stringContaining('not both'),
    ]);
    const short = { ...without(jwt, 'AUTH_JWT_JWKS_URL'), AUTH_JWT_SECRET: 'short' };
    expect(faults(short)).toEqual([expect.stringContaining('shorter than 32')]);
    for (const host of [
      'login.example',
      'evillocalhost',
      'localhost.evil.example',
      'evil.127.0.0.1.example',
      '127.0.0.2',
      'localhost@evil.example',
    ]) {
      expect(faults({ ...jwt, AUTH_JWT_JWKS_URL: `http://${host}/keys` })).toEqual([
        expect.stringContaining('AUTH_JWT_JWKS_URL is not an https URL'),
      ]);
    }
    for (const host of ['127.0.0.1:1', 'localhost', '[::1]:80']) {
      expect(faults({ ...jwt, AUTH_JWT_JWKS_URL: `http://${host}/keys` })).toEqual([]);
    }
  });
});

describe('AUTH_MODE=passthrough', () => {
  const own = { LINKS_BASE_URL: 'https://links.example', AUTH_MODE: 'passthrough' };

  it('needs the upstream whose keys callers have, and no key of its own', () => {
    expect(loadConfig(own)).toMatchObject({
      auth: { mode: 'passthrough' },
      links: { endpoint: { baseUrl: 'https://links.example', apiKey: '' } },
    });
    expect(faults({ ...own, LINKS_API_KEY: 'k' })).toEqual([
      expect.stringContaining('all callers send their own keys'),
    ]);
    const market = { MARKET_BASE_URL: 'https://m.example', MARKET_API_KEY: 'k' };
    expect(faults({ ...market, AUTH_MODE: 'passthrough' })).toEqual([
      expect.stringMatching(/^AUTH_MODE=passthrough requires LINKS_BASE_URL/),
    ]);
    expect(loadConfig({ AUTH_MODE: 'passthrough' }).sandbox).toBe(true);
  });
});
