import { describe, expect, it, vi } from 'vitest';
import { checkConfig } from '../../src/commands/check-config.ts';
import { loadConfig } from '../../src/config/config.ts';
import { endpointsOf, secretsOf } from '../../src/config/endpoints.ts';
import { faults } from './faults.ts';

const real = { LINKS_BASE_URL: 'https://links.example', LINKS_API_KEY: 'k1', AUTH_MODE: 'none' };
const secret = 'a-secret-of-thirty-two-characters';
const shared = { ...real, REDIS_URL: 'redis://redis.example', REDIS_SECRET: secret };

describe('a shared Redis', () => {
  it('is none unless it is set', () => {
    expect(loadConfig(real).redis).toBeNull();
  });

  it('is one server, or the Sentinels that know it', () => {
    expect(loadConfig(shared).redis).toEqual({
      urls: ['redis://redis.example'],
      secret,
      prefix: 'gateway',
      outageReads: 'stale',
      sentinelName: null,
    });
    const sentinels = {
      REDIS_URL: 'rediss://:pw@a.example:26379/2,rediss://b.example:26379',
      REDIS_SENTINEL_NAME: 'main',
      REDIS_PREFIX: 'eu-1.gateway_b',
      REDIS_OUTAGE_READS: 'refuse',
    };
    expect(loadConfig({ ...shared, ...sentinels }).redis).toEqual({
      urls: ['rediss://:pw@a.example:26379/2', 'rediss://b.example:26379'],
      secret,
      prefix: 'eu-1.gateway_b',
      outageReads: 'refuse',
      sentinelName: 'main',
    });
    expect(Object.isFrozen(loadConfig(shared).redis)).toBe(true);
  });

  it('takes its URL and its secret from files', () => {
    const { REDIS_URL: _, REDIS_SECRET: __, ...rest } = shared;
    const env = { ...rest, REDIS_URL_FILE: '/run/url', REDIS_SECRET_FILE: '/run/secret' };
    const config = loadConfig(env, (path) => (path === '/run/url' ? 'redis://r\n' : `${secret}\n`));
    expect(config.redis).toMatchObject({ urls: ['redis://r'], secret });
  });

  it.each([
    ['http://redis.example', /not a redis or rediss URL/],
    ['redis.example:6379', /not a redis or rediss URL/],
    ['redis://', /not a redis or rediss URL/],
    ['redis://:hidden@redis.example/main', /not a database number/],
    ['redis://:hidden@redis.example?db=1', /query or fragment/],
    ['redis://:hid#den@redis.example', /not a redis or rediss URL|query or fragment/],
    ['redis://:hidden%@redis.example', /a % that is not encoded/],
    [',', /empty list/],
  ])('is not at %s, and the fault does not repeat it', (url, reason) => {
    const [fault, ...others] = faults({ ...shared, REDIS_URL: url });
    expect(fault).toMatch(/^REDIS_URL /);
    expect(fault).toMatch(reason);
    expect(fault).not.toContain('hid');
    expect(others).toEqual([]);
  });

  it('needs a secret that is long', () => {
    const { REDIS_SECRET: _, ...bare } = shared;
    expect(faults(bare)).toEqual([expect.stringMatching(/^REDIS_URL requires REDIS_SECRET/)]);
    const [short, ...others] = faults({ ...shared, REDIS_SECRET: 'short-one' });
    expect(short).toMatch(/^REDIS_SECRET is shorter than 32/);
    expect(short).not.toContain('short-one');
    expect(others).toEqual([]);
    expect(faults({ ...shared, REDIS_SECRET: 's'.repeat(32) })).toEqual([]);
  });

  it('needs the name of the master where there are several Sentinels', () => {
    expect(faults({ ...shared, REDIS_URL: 'redis://a,redis://b' })).toEqual([
      expect.stringContaining('REDIS_SENTINEL_NAME is not set'),
    ]);
  });

  it('requires all of its settings together', () => {
    expect(faults({ ...real, REDIS_SECRET: secret, REDIS_SENTINEL_NAME: 'main' })).toEqual([
      'REDIS_SECRET requires REDIS_URL. Set REDIS_URL, or remove REDIS_SECRET.',
      'REDIS_SENTINEL_NAME requires REDIS_URL. Set REDIS_URL, or remove REDIS_SENTINEL_NAME.',
    ]);
  });

  it('has a prefix that fits into any name', () => {
    for (const prefix of ['a b', 'a:b', '{a}', 'ü', 'x'.repeat(65)]) {
      expect(faults({ ...shared, REDIS_PREFIX: prefix })).toEqual([
        expect.stringMatching(/^REDIS_PREFIX=.* is not a valid prefix/),
      ]);
    }
  });

  it('is nothing for the sandbox, where each process has data of its own', () => {
    expect(faults({ REDIS_URL: 'redis://r', REDIS_SECRET: secret })).toEqual([
      expect.stringContaining('sandboxes cannot be shared'),
    ]);
  });

  it('counts up to 500 requests in a window', () => {
    expect(faults({ ...shared, LINKS_RATE_LIMIT: '500', MARKET_RATE_LIMIT: '501' })).toEqual([
      expect.stringMatching(/^MARKET_RATE_LIMIT is above 500/),
    ]);
    expect(faults({ ...real, LINKS_RATE_LIMIT: '1000' })).toEqual([]);
    expect(faults({ ...shared, LINKS_RATE_LIMIT: 'many' })).toHaveLength(1);
  });

  it('is not mistaken for a service of Kubernetes, and a misspelled name is found', () => {
    const links = {
      REDIS_SERVICE_HOST: '10.0.0.1',
      REDIS_SERVICE_PORT: '6379',
      REDIS_SERVICE_PORT_REDIS: '6379',
      REDIS_PORT: 'tcp://10.0.0.1:6379',
      REDIS_PORT_6379_TCP: 'tcp://10.0.0.1:6379',
      REDIS_PORT_6379_TCP_ADDR: '10.0.0.1',
      REDIS_MASTER_SERVICE_HOST: '10.0.0.2',
    };
    expect(faults({ ...real, ...links })).toEqual([]);
    expect(faults({ ...real, REDIS_URI: 'redis://r' })).toEqual([
      'REDIS_URI is not a setting. Did you mean REDIS_URL?',
    ]);
  });
});

describe('the secrets of a shared Redis', () => {
  const env = { ...shared, REDIS_URL: 'redis://ada:pa%40ssword@a.example' };

  it('are hidden when the configuration is shown', async () => {
    const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    await checkConfig([], env);
    const shown = String(written.mock.lastCall?.[0]);
    written.mockRestore();
    expect(shown).toMatch(/^REDIS_URL +\*{8}$/m);
    expect(shown).toMatch(/^REDIS_SECRET +\*{8}$/m);
    expect(shown).toMatch(/^REDIS_PREFIX +gateway \(default\)$/m);
    expect(shown).not.toMatch(/pa%40ssword|thirty-two/);
  });

  it('are kept out of the log', () => {
    const config = loadConfig(env);
    expect(secretsOf(config, endpointsOf(config, null))).toEqual([
      'k1',
      secret,
      'pa%40ssword',
      'pa@ssword',
    ]);
  });
});
