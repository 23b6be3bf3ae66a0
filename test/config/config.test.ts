import { execFileSync } from 'node:child_process';
import { symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ConfigError, loadConfig } from '../../src/config/config.ts';
import { removedSettings } from '../../src/config/removed-settings.ts';
import { settings } from '../../src/config/settings.ts';
import { resourceNames } from '../../src/resources.ts';
import { tempFolder } from '../support/folder.ts';
import { faults } from './faults.ts';

const real = {
  LINKS_BASE_URL: 'https://links.example',
  LINKS_API_KEY: 'k1',
  AUTH_MODE: 'none',
};

/** The classes of callers where none is configured. */
const AGENTS = new Map([['agent', { weight: 0, maxCallsPerMinute: 10 }]]);

describe('loadConfig with nothing set', () => {
  it('runs on the sandbox, on loopback, under the documented limits', () => {
    const config = loadConfig({});
    expect(config).toMatchObject({
      port: 4000,
      host: '127.0.0.1',
      sandbox: true,
      auth: { mode: 'none' },
      maxWaitMs: 10_000,
      corsOrigins: [],
      exposeUserApiKeys: false,
      cacheMaxBytes: 67_108_864,
    });
    expect(config.links).toEqual({
      endpoint: null,
      jobsMinPerMinute: 2,
      rateLimit: 30,
      rateWindowMs: 60_000,
      reserves: { writes: 0.1, newcomers: 0 },
      classes: AGENTS,
      pageSize: 100,
      timeZone: 'UTC',
      timeoutMs: 10_000,
    });
    expect(config.market).toEqual({
      endpoint: null,
      jobsMinPerMinute: 2,
      rateLimit: 60,
      rateWindowMs: 60_000,
      reserves: { writes: 0.1, newcomers: 0 },
      classes: AGENTS,
      timeoutMs: 10_000,
      postEncoding: 'json',
    });
  });

  it('takes an empty variable as one that is not set', () => {
    expect(loadConfig({ PORT: '', LINKS_BASE_URL: ' ', LINKS_API_KEY: '' })).toEqual(
      loadConfig({}),
    );
  });

  it('reserves slots for new callers only if callers have names', () => {
    const file = join(tempFolder(), 'tokens.json');
    writeFileSync(file, '{"tokens": []}');
    const named = loadConfig({ AUTH_MODE: 'token', AUTH_TOKENS_FILE: file });
    expect(named.links.reserves).toEqual({ writes: 0.1, newcomers: 0.1 });
    expect(named.market.reserves).toEqual({ writes: 0.1, newcomers: 0.1 });
  });

  it('freezes every level', () => {
    const config = loadConfig({});
    for (const value of [config, config.links, config.market, config.ttlMs, config.corsOrigins]) {
      expect(Object.isFrozen(value)).toBe(true);
    }
  });

  it('keeps every resource between thirty seconds and ten minutes', () => {
    const { ttlMs } = loadConfig({});
    expect(Object.keys(ttlMs)).toEqual([...resourceNames]);
    for (const ms of Object.values(ttlMs)) {
      expect(ms).toBeGreaterThanOrEqual(30_000);
      expect(ms).toBeLessThanOrEqual(600_000);
    }
  });
});

describe('the sandbox', () => {
  const where = [
    { NODE_ENV: 'production' },
    { HOST: '0.0.0.0' },
    { HOST: '::' },
    { HOST: '192.0.2.7' },
    { HOST: 'gateway.example' },
  ];

  it.each(where)('is not started by accident with %o', (env) => {
    expect(faults(env)).toEqual([
      expect.stringMatching(/^No upstream API .*LINKS_BASE_URL.*SANDBOX=on/),
    ]);
    expect(faults({ ...env, SANDBOX: 'off' })).toHaveLength(1);
    expect(loadConfig({ ...env, SANDBOX: 'on' }).sandbox).toBe(true);
    expect(loadConfig({ ...env, ...real }).sandbox).toBe(false);
    expect(faults({ ...env, LINK_BASE_URL: 'https://links.example' })).toHaveLength(2);
  });

  it.each(['127.0.0.1', '127.0.0.2', 'localhost', '::1'])('is there by itself on %s', (HOST) => {
    expect(loadConfig({ HOST }).sandbox).toBe(true);
  });

  it('is never there beside a real API, nor against its setting', () => {
    expect(faults({ ...real, SANDBOX: 'on' })).toEqual([
      'SANDBOX=on and LINKS_BASE_URL are both set. Remove one of them.',
    ]);
    expect(loadConfig({ ...real, SANDBOX: 'off' }).sandbox).toBe(false);
    expect(faults({ SANDBOX: 'off' })).toEqual([expect.stringMatching(/^No upstream API /)]);
  });
});

describe('the table of settings', () => {
  it('holds every name once, with a doc and a default that the loader accepts', () => {
    const names = settings.map((setting) => setting.name);
    expect(new Set(names).size).toBe(names.length);
    expect(settings.filter((setting) => setting.doc.length < 10)).toEqual([]);
    const spelled = settings.flatMap(({ name, default: value }) =>
      value === null ? [] : [[name, value]],
    );
    expect(loadConfig(Object.fromEntries(spelled))).toEqual(loadConfig({}));
  });

  it('has the ttls of all resources in one setting', () => {
    const { ttlMs } = loadConfig({ TTLS: ' {"channelItems": 5, "plans": 0} ' });
    expect(ttlMs).toMatchObject({ channelItems: 5, plans: 0, channels: 60_000 });
  });

  it.each([
    ['[1]', 'is not a JSON object'],
    ['{"channels": 5', 'is not a JSON object'],
    ['{"channel": 5}', 'names "channel", which is not a resource. Use account, domains,'],
    ['{"constructor": 5}', 'names "constructor", which is not a resource'],
    ['{"channels": -1}', 'has a value of channels that is not an integer from 0 to 86400000'],
    ['{"channels": "5"}', 'has a value of channels that is not an integer'],
  ])('refuses the ttls %s', (TTLS, reason) => {
    expect(faults({ TTLS })).toEqual([expect.stringContaining(`TTLS ${reason}`)]);
  });

  it('refuses each setting that went, with what replaces it', () => {
    const names = Object.keys(removedSettings);
    expect(names.filter((name) => settings.some((each) => each.name === name))).toEqual([]);
    const found = faults(Object.fromEntries(names.map((name) => [name, '1'])));
    expect(found).toHaveLength(names.length);
    expect(found).toContain(
      'TTL_CHANNEL_ITEMS_MS is no longer a setting. Set TTLS={"channelItems": …} instead.',
    );
    for (const fault of found) expect(fault).toMatch(/^[A-Z_]+ is no longer a setting\. \w.*\.$/);
  });
});

describe('an upstream', () => {
  it('keeps its path prefix and loses its trailing slashes', () => {
    const config = loadConfig({ ...real, LINKS_BASE_URL: 'https://Host.example/s//' });
    expect(config.links.endpoint).toEqual({ baseUrl: 'https://host.example/s', apiKey: 'k1' });
    expect(config.market.endpoint).toBeNull();
    expect(config.sandbox).toBe(false);
  });

  it.each([
    ['ftp://host.example', /http or https/],
    ['host.example', /http or https/],
    ['https://user:pw@host.example', /credentials/],
    ['https://host.example/?a=1', /query or a fragment/],
    ['https://host.example/#top', /query or a fragment/],
  ])('refuses the base URL %s without repeating it', (url, reason) => {
    const [fault, ...others] = faults({ ...real, LINKS_BASE_URL: url });
    expect(fault).toMatch(/^LINKS_BASE_URL /);
    expect(fault).toMatch(reason);
    expect(fault).not.toContain('pw@');
    expect(others).toEqual([]);
  });

  it.each([
    ['LINKS', 'https://links.example/api', 'https://links.example'],
    ['LINKS', 'https://links.example/s/API//', 'https://links.example/s'],
    ['MARKET', 'https://market.example/api/', 'https://market.example'],
  ])('refuses the %s base URL %s, and says what to write', (upstream, url, right) => {
    const name = `${upstream}_BASE_URL`;
    const env = { AUTH_MODE: 'none', [name]: url, [`${upstream}_API_KEY`]: 'k1' };
    expect(faults(env)).toEqual([
      `${name} ends in /api, which the gateway appends to the URL. Set it to ${right}.`,
    ]);
    expect(faults({ ...env, [name]: `${right}/apis` })).toEqual([]);
  });

  it('needs its key, and a key needs its upstream', () => {
    expect(faults({ MARKET_BASE_URL: 'https://m.example', AUTH_MODE: 'none' })).toEqual([
      expect.stringContaining('Set MARKET_API_KEY or MARKET_API_KEY_FILE'),
    ]);
    expect(faults({ MARKET_API_KEY: 'k' })).toEqual([
      expect.stringContaining('Set MARKET_BASE_URL'),
    ]);
  });
});

describe('a secret', () => {
  const { LINKS_API_KEY: _, ...withoutKey } = real;
  const fromFile = { ...withoutKey, LINKS_API_KEY_FILE: '/run/secrets/links' };

  it('comes from a file as well, without its trailing newline', () => {
    const config = loadConfig(fromFile, (path) => `${path.slice(-5)}\r\n`);
    expect(config.links.endpoint?.apiKey).toBe('links');
  });

  it('is a fault when it comes from both places, or from a file that cannot be read or is empty', () => {
    const absent = (): never => {
      throw Object.assign(new Error('no'), { code: 'ENOENT' });
    };
    expect(faults({ ...fromFile, LINKS_API_KEY: 'k' })).toEqual([
      expect.stringContaining('both set'),
    ]);
    expect(faults(fromFile, absent)).toEqual([expect.stringContaining('(ENOENT)')]);
    expect(faults(fromFile, () => '\n')).toEqual([expect.stringContaining('empty file')]);
  });

  it('is never repeated in a fault', () => {
    const [fault] = faults({ ...real, LINKS_API_KEY: 'two words' });
    expect(fault).toContain('LINKS_API_KEY contains a space');
    expect(fault).not.toContain('two words');
  });
});

describe('a file that a setting names', () => {
  const folder = tempFolder();
  const pipe = join(folder, 'pipe');
  const large = join(folder, 'large');
  beforeAll(() => {
    execFileSync('mkfifo', [pipe]);
    writeFileSync(large, '');
    truncateSync(large, 400_000_000);
  });

  const { LINKS_API_KEY: _, ...withoutKey } = real;
  const all = (path: string) => ({
    ...withoutKey,
    LINKS_API_KEY_FILE: path,
    AUTH_MODE: 'token',
    AUTH_TOKENS_FILE: path,
    PERSISTED_OPERATIONS_FILE: path,
  });

  it.each([
    ['a pipe, for which nobody writes', pipe],
    ['a device that never ends', '/dev/zero'],
    ['a folder', folder],
  ])('is a fault where it is %s, each by its name', (_, path) => {
    const names = ['AUTH_TOKENS_FILE', 'LINKS_API_KEY_FILE', 'PERSISTED_OPERATIONS_FILE'];
    const why = String.raw`\(it is not a regular file\)`;
    expect(faults(all(path))).toEqual(
      names.map((name) => expect.stringMatching(new RegExp(`^${name} .*${why}`))),
    );
  });

  it('is a fault where it is larger than anything that belongs there', () => {
    const found = faults(all(large));
    expect(found).toHaveLength(3);
    for (const fault of found) expect(fault).toMatch(/it is larger than \d+ bytes/);
  });

  it('is read where it is a link to one, as mounted secrets are', () => {
    const file = join(folder, 'key');
    writeFileSync(file, `${'k'.repeat(65_535)}\n`);
    symlinkSync(file, join(folder, 'link'));
    const config = loadConfig({ ...withoutKey, LINKS_API_KEY_FILE: join(folder, 'link') });
    expect(config.links.endpoint?.apiKey).toBe('k'.repeat(65_535));
    writeFileSync(file, 'k'.repeat(65_537));
    expect(faults({ ...withoutKey, LINKS_API_KEY_FILE: file })).toEqual([
      expect.stringContaining('it is larger than 65536 bytes'),
    ]);
  });
});

describe('a value', () => {
  it.each([
    ['PORT', '65536'],
    ['PORT', '80a'],
    ['LINKS_RATE_LIMIT', '0'],
    ['LINKS_TIMEOUT_MS', '1e3'],
    ['MAX_WAIT_MS', '-1'],
    ['EXPOSE_USER_API_KEYS', 'yes'],
    ['MARKET_POST_ENCODING', 'xml'],
    ['LINKS_TIMEZONE', 'Mars/Olympus'],
    ['CORS_ORIGINS', '*'],
    ['CORS_ORIGINS', 'null'],
    ['CORS_ORIGINS', 'https://app.example/'],
    ['CORS_ORIGINS', 'https://*.example'],
    ['CORS_ORIGINS', 'ftp://app.example'],
    ['CORS_ORIGINS', 'ws://app.example'],
    ['CORS_ORIGINS', 'https://App.example'],
    ['CORS_ORIGINS', 'https://app.example:443'],
    ['ALLOWED_HOSTS', 'api.example.com:443'],
    ['ALLOWED_HOSTS', 'https://api.example.com'],
    ['ALLOWED_HOSTS', '*.example.com'],
    ['ALLOWED_HOSTS', 'api.example.com.'],
    ['ALLOWED_HOSTS', '.example.com'],
  ])('%s=%s is refused by name, with what to set', (name, value) => {
    const found = faults({ [name]: value });
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(name);
    expect(found[0]).toContain(value);
    expect(found[0]).toMatch(/Set (it to )?\w+/);
  });

  it('of CORS_ORIGINS is a list with or without spaces', () => {
    const { corsOrigins } = loadConfig({
      CORS_ORIGINS: 'https://a.example, http://localhost:3000,',
    });
    expect(corsOrigins).toEqual(['https://a.example', 'http://localhost:3000']);
  });
});

describe('a report of faults', () => {
  it('holds all of them at once', () => {
    const env = { PORT: 'x', LINKS_PAGE_SIZE: '0', LINKS_BASE_URL: 'nowhere', MCP: '1' };
    const found = faults(env);
    expect(found).toHaveLength(6);
    expect(new ConfigError(found).message).toMatch(/^The configuration has 6 errors:\n {2}- /);
  });

  it('asks about a misspelled name, however it begins', () => {
    for (const [name, meant] of [
      ['LINK_BASE_URL', 'LINKS_BASE_URL'],
      ['LINSK_BASE_URL', 'LINKS_BASE_URL'],
      ['LINK_API_KEY', 'LINKS_API_KEY'],
      ['LINK_API_KEY_FILE', 'LINKS_API_KEY_FILE'],
      ['MARKETPLACE_BASE_URL', 'MARKET_BASE_URL'],
      ['MARKETPLACE_API_KEY', 'MARKET_API_KEY'],
      ['MARKETPLACE_API_KEY_FILE', 'MARKET_API_KEY_FILE'],
      ['CORS_ORIGIN', 'CORS_ORIGINS'],
      ['CORS_ALLOWED_ORIGINS', 'CORS_ORIGINS'],
      ['AUTHMODE', 'AUTH_MODE'],
      ['AUTHENTICATION_MODE', 'AUTH_MODE'],
      ['AUTHENTICATION_TOKENS_FILE', 'AUTH_TOKENS_FILE'],
    ]) {
      const found = faults({ [name ?? '']: 'x' });
      expect(found).toEqual([`${name} is not a setting. Did you mean ${meant}?`]);
    }
  });

  it('asks about a misspelled name', () => {
    const env = { LINKS_TIMEOUT: '5', TTLSS: '5', MARKET_APIKEY_FILE: '/x' };
    expect(faults(env)).toEqual([
      'LINKS_TIMEOUT is not a setting. Did you mean LINKS_TIMEOUT_MS?',
      'MARKET_APIKEY_FILE is not a setting. Did you mean MARKET_API_KEY_FILE?',
      'TTLSS is not a setting. Did you mean TTLS?',
    ]);
  });

  it('leaves alone what is not ours', () => {
    const env = {
      PATH: '/bin',
      LINKSHARE: '1',
      LINKEDIN_API_KEY: '1',
      OPENAI_API_KEY: '1',
      MARKETSTACK_BASE_URL: '1',
      VITE_BASE_URL: '1',
      AUTH0_DOMAIN: '1',
      AUTHOR: '1',
      // A Kubernetes service called "links" puts these into every container beside it.
      LINKS_SERVICE_HOST: '10.0.0.1',
      LINKS_PORT: 'tcp://10.0.0.1:80',
      LINKS_PORT_80_TCP_ADDR: '10.0.0.1',
    };
    expect(faults(env)).toEqual([]);
  });
});
