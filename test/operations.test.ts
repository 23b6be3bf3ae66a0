import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../src/config/config.ts';
import { usualLimits } from '../src/config/limits.ts';
import { settings } from '../src/config/settings.ts';
import { createWaitingMetrics } from '../src/observe/metrics/waiting-metrics.ts';
import { type BusyGateway, busyGateway } from './support/busy-gateway.ts';
import { manifestVariables, resourcesOf, servicesOf, variablesOf } from './support/deployed.ts';
import { parseDockerfile } from './support/dockerfile.ts';
import { pageAt } from './support/readme.ts';

const operations = pageAt('docs/operations.md');
const compose = readFileSync('compose.yaml', 'utf8');
const account = readFileSync('compose.account.yaml', 'utf8');
const { gateway } = servicesOf('compose.yaml', 'compose.account.yaml');
const manifest = readFileSync('deploy/kubernetes.yaml', 'utf8');

const port = parseDockerfile(readFileSync('Dockerfile', 'utf8'))
  .at(-1)
  ?.instructions.find(({ keyword }) => keyword === 'EXPOSE')?.rest;

let busy: BusyGateway;
beforeAll(async () => {
  busy = await busyGateway({ metrics: 'open' });
});

/** What a secret's file holds, by its path. */
function secretFile(path: string): string {
  if (path.endsWith('database_url')) return 'postgres://user:password@host/database';
  return path.includes('token') ? '{"tokens":[]}' : 'a-key-of-an-account';
}

describe.each([
  ['compose.yaml with compose.account.yaml', variablesOf(gateway)],
  ['the Kubernetes manifest', manifestVariables(manifest)],
])('%s', (name, environment) => {
  it('sets what there is to set, and makes a configuration that starts', () => {
    const known = settings.flatMap(({ name }) => [name, `${name}_FILE`]);
    expect(Object.keys(environment).length).toBeGreaterThan(4);
    expect(Object.keys(environment).filter((name) => !known.includes(name))).toEqual([]);
    const config = loadConfig(environment, secretFile);
    expect(config).toMatchObject({ sandbox: false, metrics: 'open', auth: { mode: 'token' } });
    expect(config.links.endpoint?.apiKey).toBe('a-key-of-an-account');
    if (name.startsWith('compose'))
      expect(config.market.endpoint?.apiKey).toBe('a-key-of-an-account');
  });

  it('holds no secret itself', () => {
    const secret = settings.filter((setting) => setting.secret).map(({ name }) => name);
    expect(Object.keys(environment).filter((name) => secret.includes(name))).toEqual([]);
  });
});

describe('compose.yaml', () => {
  it('publishes the port that the image listens on, to this machine only', () => {
    expect(compose).toContain(`- "127.0.0.1:${port}:${port}"`);
  });

  it('asks a path for health that there is', async () => {
    const path = /127\.0\.0\.1:4000(\/\w+)/.exec(compose)?.[1] ?? '';
    expect((await fetch(busy.url + path)).status).toBe(200);
  });

  it('gives each secret that it names, as the file that a setting points at', () => {
    const files = Object.entries(variablesOf(gateway))
      .filter(([name]) => name.endsWith('_FILE'))
      .map(([, path]) => path.replace('/run/secrets/', ''));
    const defined = [...account.slice(account.indexOf('\nsecrets:')).matchAll(/^ {2}(\w+):$/gm)];
    expect(new Set(gateway?.secrets)).toEqual(new Set(files));
    expect(new Set(defined.map(([, name]) => name))).toEqual(new Set(files));
  });

  it('waits longer than the gateway takes to stop', () => {
    const grace = Number(/stop_grace_period: (\d+)s/.exec(compose)?.[1]) * 1000;
    expect(grace).toBeGreaterThan(usualLimits.shutdownGraceMs);
  });
});

describe('the Kubernetes manifest', () => {
  it('is a Secret, a Deployment and a Service', () => {
    const resources = resourcesOf('deploy/kubernetes.yaml');
    expect(resources.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'Secret gateway',
      'Deployment gateway',
      'Service gateway',
    ]);
    expect(manifest).not.toContain('\t');
  });

  it('runs two pods over one database, which reach each other', () => {
    expect(manifest).toMatch(/^ {2}replicas: 2$/m);
    const variables = manifestVariables(manifest);
    expect(variables).toHaveProperty('DATABASE_URL_FILE');
    expect(variables['ADVERTISE_URL']).toBe(`http://$(POD_IP):${port}`);
  });

  it('mounts the secret where the settings look for it', () => {
    const mount = /mountPath: ([\w/]+)/.exec(manifest)?.[1] ?? '';
    const keys = [...manifest.matchAll(/^ {2}([\w.]+): put-/gm)].map(
      ([, key]) => `${mount}/${key}`,
    );
    const files = Object.entries(manifestVariables(manifest)).filter(([name]) =>
      name.endsWith('_FILE'),
    );
    expect(files.map(([, path]) => path).sort()).toEqual(keys.sort());
  });

  it('waits longer than the gateway takes to stop', () => {
    const grace = Number(/terminationGracePeriodSeconds: (\d+)/.exec(manifest)?.[1]) * 1000;
    const delayMs = Number(/preStop: .*setTimeout\(\(\) => \{\}, (\d+)\)/.exec(manifest)?.[1]);
    expect(delayMs).toBeGreaterThan(0);
    expect(grace).toBeGreaterThan(delayMs + usualLimits.shutdownGraceMs);
  });
});

describe('the page for operators', () => {
  it('names metrics that there are, in its table and its queries, and all of them', async () => {
    const owner = await (await fetch(`${busy.url}/metrics`)).text();
    const waiting = await createWaitingMetrics({ requests: 0, repeats: 0 }).render();
    const real = [...`${owner}${waiting.text}`.matchAll(/^# TYPE (gateway_\w+)/gm)].map(
      ([, name]) => name,
    );
    const named = [...operations.matchAll(/\b(gateway_\w+?)(?:_bucket)?\b/g)].map(
      ([, name]) => name ?? '',
    );
    expect([...new Set(named)].filter((name) => !real.includes(name))).toEqual([]);
    expect(real.filter((name) => !named.includes(name ?? ''))).toEqual([]);
  });

  it('shows a line of the log as it is', async () => {
    await busy.ask('query Dashboard { account { username } }');
    const shown = /```text\n(\{.*)\n```/.exec(operations)?.[1] ?? '{}';
    const real = busy.lines().find(({ msg }) => msg === 'operation') ?? {};
    expect(Object.keys(JSON.parse(shown) as object)).toEqual(Object.keys(real));
  });

  it('speaks of settings that there are', () => {
    const known = settings.flatMap(({ name }) => [name, `${name}_FILE`]);
    const spoken = [
      ...operations.matchAll(/`([A-Z]+(?:_[A-Z]+)*_(?:MS|LIMIT|LEVEL|MODE|FILE))(?:=\w+)?`/g),
    ];
    expect(spoken.length).toBeGreaterThan(4);
    expect(spoken.map(([, name]) => name ?? '').filter((name) => !known.includes(name))).toEqual(
      [],
    );
  });
});
