import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../src/config/config.ts';
import { usualLimits } from '../src/config/limits.ts';
import { settings } from '../src/config/settings.ts';
import { type BusyGateway, busyGateway } from './support/busy-gateway.ts';
import { manifestVariables, servicesOf, variablesOf } from './support/deployed.ts';
import { parseDockerfile } from './support/dockerfile.ts';
import { fencedBlocks, pageAt } from './support/readme.ts';

const page = pageAt('docs/replicas.md');
const compose = readFileSync('compose.replicas.yaml', 'utf8');
const balancer = readFileSync('deploy/haproxy.cfg', 'utf8');
const manifest = readFileSync('deploy/kubernetes-replicas.yaml', 'utf8');

/** Everything that speaks to Redis. */
const sources = readdirSync('src/redis', { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.(ts|lua)$/.test(path))
  .map((path) => readFileSync(join('src/redis', path), 'utf8'));

const port = parseDockerfile(readFileSync('Dockerfile', 'utf8'))
  .at(-1)
  ?.instructions.find(({ keyword }) => keyword === 'EXPOSE')?.rest;

let busy: BusyGateway;
beforeAll(async () => {
  busy = await busyGateway({ metrics: 'open' });
});
afterAll(() => busy.close());

/** What stands below a service of a compose file. */
function service(name: string): string {
  return new RegExp(`^ {2}${name}:\\n((?: {4}.*\\n|\\n)+)`, 'm').exec(compose)?.[1] ?? '';
}

/** The items of a list that stands one a line. */
function list(key: string, text: string): string[] {
  const items = new RegExp(`^ +${key}:\\n((?: +- .*\\n)+)`, 'm').exec(text)?.[1] ?? '';
  return [...items.matchAll(/- (.*)/g)].map(([, item = '']) => item);
}

/** What a service is started with. */
const composeEnvironment = () => variablesOf(servicesOf('compose.replicas.yaml')['gateway']);

/** What a secret's file holds, by its path. */
function secretFile(path: string): string {
  if (path.includes('token')) return '{"tokens":[]}';
  if (path.includes('redis_url')) return 'redis://gateway:password@redis:6379\n';
  return 'a-secret-of-at-least-32-characters';
}

describe.each([
  ['compose.replicas.yaml', composeEnvironment(), 'deploy:\n      replicas: 3'],
  ['the Kubernetes manifest', manifestVariables(manifest), 'replicas: 3\n'],
])('%s', (_, environment, several) => {
  const isCompose = several.startsWith('deploy');
  const text = isCompose ? compose : manifest;

  it('sets what there is to set, and makes a configuration that starts', () => {
    const known = settings.flatMap(({ name }) => [name, `${name}_FILE`]);
    expect(Object.keys(environment).filter((name) => !known.includes(name))).toEqual([]);
    const config = loadConfig(environment, secretFile);
    expect(config).toMatchObject({
      sandbox: false,
      auth: { mode: 'token' },
      redis: { urls: ['redis://gateway:password@redis:6379'], prefix: 'gateway' },
    });
  });

  it('holds no secret itself', () => {
    const secret = settings.filter((setting) => setting.secret).map(({ name }) => name);
    expect(Object.keys(environment).filter((name) => secret.includes(name))).toEqual([]);
    expect(text).not.toMatch(/requirepass|redis:\/\/(?!gateway:PASSWORD@)/);
  });

  it('starts three gateways, which note nothing on a disk', () => {
    expect(text).toContain(several);
    expect(environment['STATE_DIR']).toBe('off');
    expect(text).not.toContain('/app/state');
  });

  it('waits longer than the gateway takes to stop', () => {
    const grace = /(?:stop_grace_period|terminationGracePeriodSeconds): (\d+)/.exec(text)?.[1];
    const delayMs = Number(/setTimeout\(\(\) => \{\}, (\d+)\)/.exec(text)?.[1] ?? 0);
    expect(Number(grace) * 1000).toBeGreaterThan(delayMs + usualLimits.shutdownGraceMs);
  });

  it('lets Redis keep nothing on a disk and forget nothing but answers', () => {
    const flags = list(isCompose ? 'command' : 'args', text).join(' ');
    expect(flags).toContain('--save "" --maxmemory 64mb --maxmemory-policy volatile-lru');
    const users = /--aclfile \/run\/secrets\/(\S+)$/.exec(flags)?.[1] ?? '';
    if (isCompose) expect(list('secrets', service('redis'))).toEqual([users]);
    else expect(manifest).toContain('mountPath: /run/secrets/redis,');
    expect(text).not.toContain('appendonly');
  });
});

describe('compose.replicas.yaml', () => {
  it('has the gateway of compose.account.yaml in its place, with the same settings and more', () => {
    const alone = variablesOf(servicesOf('compose.yaml', 'compose.account.yaml')['gateway']);
    expect(Object.keys(alone).length).toBeGreaterThan(5);
    expect(composeEnvironment()).toEqual({
      ...alone,
      REDIS_URL_FILE: '/run/secrets/redis_url',
      REDIS_SECRET_FILE: '/run/secrets/redis_secret',
      // They have no volume in common: the history of counts stays in memory.
      STATE_DIR: 'off',
    });
  });

  it('gives each secret that it names, as the file that a setting points at', () => {
    const files = Object.entries(composeEnvironment())
      .filter(([name]) => name.endsWith('_FILE'))
      .map(([, path]) => path.replace('/run/secrets/', ''));
    expect(list('secrets', service('gateway')).toSorted()).toEqual(files.toSorted());
    const defined = [...compose.slice(compose.indexOf('\nsecrets:')).matchAll(/^ {2}(\w+):$/gm)];
    expect(defined.map(([, name = '']) => name).toSorted()).toEqual(
      [...files, ...list('secrets', service('redis'))].toSorted(),
    );
  });

  it('is told by the page how to make the secrets that compose.account.yaml does not have', () => {
    const old = readFileSync('compose.account.yaml', 'utf8');
    const files = [...compose.matchAll(/file: \.\/(\S+)/g)].map(([, path = '']) => path);
    const fresh = files.filter((path) => !old.includes(path));
    expect(fresh).toHaveLength(3);
    const commands = fencedBlocks(page).filter(({ language }) => language === 'sh');
    for (const path of fresh) expect(commands.some(({ text }) => text.includes(path))).toBe(true);
  });

  it('publishes the balancer only, to this machine only', () => {
    expect(service('balancer')).toContain(`\n      - "127.0.0.1:${port}:${port}"\n`);
    expect(service('gateway') + service('redis')).not.toContain('ports:');
  });

  it('asks a path for health that there is', async () => {
    const path = /127\.0\.0\.1:4000(\/\w+)/.exec(compose)?.[1] ?? '';
    expect((await fetch(busy.url + path)).status).toBe(200);
  });
});

describe('the balancer', () => {
  it('finds the gateways by the name of their service, and passes what callers need', () => {
    expect(balancer).toContain(`bind :${port}\n`);
    expect(balancer).toContain(`server-template gateway 10 gateway:${port}\n`);
    expect(balancer).toContain('unless { path /graphql } || { path_beg /files/ }\n');
  });

  it('asks whether a replica is ready', async () => {
    const path = /option httpchk GET (\S+)/.exec(balancer)?.[1] ?? '';
    expect((await fetch(busy.url + path)).status).toBe(200);
  });
});

describe('the Kubernetes manifest', () => {
  const documents = manifest.split(/^---$/m);
  const document = (kind: string, name: string): string =>
    documents.find((text) => text.includes(`\nkind: ${kind}\nmetadata:\n  name: ${name}\n`)) ?? '';

  it('is the gateways, their Redis, and what stands around them', () => {
    expect(
      documents.map((text) => [
        /^kind: (\w+)$/m.exec(text)?.[1],
        /^metadata:\n {2}name: (\S+)$/m.exec(text)?.[1],
      ]),
    ).toEqual([
      ['Secret', 'gateway'],
      ['Secret', 'gateway-redis'],
      ['Deployment', 'gateway'],
      ['PodDisruptionBudget', 'gateway'],
      ['Service', 'gateway'],
      ['StatefulSet', 'gateway-redis'],
      ['Service', 'gateway-redis'],
      ['NetworkPolicy', 'gateway-redis'],
    ]);
    expect(manifest).not.toContain('\t');
  });

  it('rolls over without a gap, and never runs two Redis', () => {
    expect(document('Deployment', 'gateway')).toContain(
      'type: RollingUpdate\n    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }',
    );
    expect(document('StatefulSet', 'gateway-redis')).toContain('\n  replicas: 1\n');
  });

  it('speaks of pods that there are', () => {
    const made = [...manifest.matchAll(/^ {6}labels: (.*)$/gm)].map(([, label]) => label);
    const meant = [...manifest.matchAll(/(?:matchLabels|selector): (\{.*\})$/gm)];
    expect(made).toEqual(['{ app: gateway }', '{ app: gateway-redis }']);
    expect(meant.length).toBeGreaterThan(6);
    expect(meant.map(([, label]) => label).filter((label) => !made.includes(label))).toEqual([]);
    expect(document('NetworkPolicy', 'gateway-redis')).toContain(
      '- podSelector:\n            matchLabels: { app: gateway }\n      ports:\n        - { port: redis,',
    );
  });

  it('mounts the secrets where the settings look for them', () => {
    const keys = [...document('Secret', 'gateway').matchAll(/^ {2}([\w.]+): put-/gm)];
    const files = Object.entries(manifestVariables(manifest)).filter(([name]) =>
      name.endsWith('_FILE'),
    );
    expect(files.map(([, path]) => path).toSorted()).toEqual(
      keys.map(([, key]) => `/run/secrets/gateway/${key}`).toSorted(),
    );
    expect(manifest).toContain('mountPath: /run/secrets/gateway,');
  });
});

describe('the page for several replicas', () => {
  const rules = [...page.matchAll(/~\{.* \+[\w|]+/g)].map(([rule]) => rule);

  it('lets Redis be used within the keys of the default prefix only', () => {
    const prefix = settings.find(({ name }) => name === 'REDIS_PREFIX')?.default;
    const start = `~{${prefix}:1}:* &{${prefix}:1}:ch -@all +`;
    expect(rules).toHaveLength(2);
    expect(new Set(rules).size).toBe(1);
    expect(rules.filter((rule) => !rule.startsWith(start) || /\+@|&\*| ~\*/.test(rule))).toEqual(
      [],
    );
  });

  it('lets Redis be asked for all that scripts and processes ask for', () => {
    const allowed = [...(rules[0] ?? '').matchAll(/\+([a-z]+)/g)].map(([, name = '']) => name);
    // A Sentinel has users of its own.
    const asked = sources.flatMap((text) => [
      ...text.matchAll(/(?:redis\.p?call\(|onTags\(|\[)\s*'(?!SENTINEL)([A-Z]+)'/g),
    ]);
    expect(asked.length).toBeGreaterThan(4);
    const names = new Set(asked.map(([, name = '']) => name.toLowerCase()));
    expect([...names].filter((name) => !allowed.includes(name))).toEqual([]);
  });

  it('speaks of settings that there are, and of all that are about Redis', () => {
    const known = settings.map(({ name }) => name).filter((name) => name.startsWith('REDIS_'));
    const spoken = new Set(
      [...page.matchAll(/`(REDIS_[A-Z_]+?)(?:_FILE)?(?:=\w+)?`/g)].map(([, name = '']) => name),
    );
    expect([...spoken].toSorted()).toEqual(known.toSorted());
  });
});

it('metrics that the page names are counted', () => {
  const counted = readFileSync('src/observe/metrics/replica-metrics.ts', 'utf8');
  const named = new Set(page.match(/\bgateway_\w+/g) ?? []);
  named.delete('gateway_reads_total');
  expect(named.size).toBeGreaterThan(7);
  const unknown = [...named].filter(
    (name) => !new RegExp(`'(gateway_)?${name.replace('gateway_', '')}'`).test(counted),
  );
  expect(unknown).toEqual([]);
});
