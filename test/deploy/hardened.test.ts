import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { usualLimits } from '../../src/config/limits.ts';
import { settings } from '../../src/config/settings.ts';
import type { Run } from '../bench/report/run.ts';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { resourcesOf, servicesOf, variablesOf } from '../support/deployed.ts';
import { parseDockerfile } from '../support/dockerfile.ts';

const PINNED = /^[\w./-]+(:[\w.-]+)?@sha256:[0-9a-f]{64}$/;
const MIB = 1024 * 1024;

const port = parseDockerfile(readFileSync('Dockerfile', 'utf8'))
  .at(-1)
  ?.instructions.find(({ keyword }) => keyword === 'EXPOSE')?.rest;

const pods = resourcesOf('deploy/kubernetes.yaml').flatMap((resource) => {
  const pod = resource.spec?.template?.spec;
  return pod ? [{ name: resource.metadata.name, pod }] : [];
});
const gateways = pods.flatMap(({ name, pod }) =>
  pod.containers.filter((one) => one.name === 'gateway').map((container) => ({ name, container })),
);
const services = Object.entries(servicesOf('compose.yaml')).map(([name, service]) => ({
  name,
  service,
}));

let busy: BusyGateway;
beforeAll(async () => {
  busy = await busyGateway({ metrics: 'open' });
});

describe.each(services)('the service $name', ({ service }) => {
  it('runs without rights, as a numbered user, and writes into volumes alone', () => {
    expect(service).toMatchObject({
      user: expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/),
      read_only: true,
      cap_drop: ['ALL'],
      // Docker's seccomp profile is in force unless another is named.
      security_opt: ['no-new-privileges:true'],
    });
    expect(service.privileged).toBeUndefined();
  });

  it('has limits of memory and processes', () => {
    expect(service.deploy?.resources?.limits).toEqual({
      memory: expect.stringMatching(/^\d+M$/),
      pids: expect.any(Number),
    });
  });

  it('is built here, or pinned by its digest', () => {
    if (service.build === undefined) expect(service.image).toMatch(PINNED);
    else expect(service.build).toBe('.');
  });
});

describe.each(pods)('the pod $name', ({ pod }) => {
  it('runs without rights, as a numbered user, behind seccomp, and writes into volumes alone', () => {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 1000,
        runAsGroup: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      },
    });
    for (const { securityContext } of pod.containers) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  it('has a limit and a request of memory', () => {
    for (const { resources } of pod.containers) {
      expect(resources.limits['memory']).toMatch(/^\d+Mi$/);
      expect(resources.requests).toEqual({
        cpu: expect.stringMatching(/^\d+m$/),
        memory: expect.stringMatching(/^\d+Mi$/),
      });
    }
  });

  it('has images by their digests', () => {
    for (const { image } of pod.containers) {
      expect(image.replace('put-the-digest-here', '0'.repeat(64))).toMatch(PINNED);
    }
  });
});

describe.each(gateways)('the probes of $name', ({ container }) => {
  it('request existing paths on the port of the image', async () => {
    expect(container.ports[0]).toEqual({ name: 'http', containerPort: Number(port) });
    const { livenessProbe, readinessProbe, startupProbe } = container;
    const asked = [startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet);
    expect(asked).toEqual([
      { path: '/livez', port: 'http' },
      { path: '/livez', port: 'http' },
      { path: '/readyz', port: 'http' },
    ]);
    for (const get of asked) expect((await fetch(busy.url + get?.path)).status).toBe(200);
  });

  it('allow half a minute for a start, and detect its end within a second', () => {
    const { failureThreshold, periodSeconds } = container.startupProbe ?? {};
    expect([periodSeconds, failureThreshold]).toEqual([1, 30]);
  });
});

describe('the metrics of the manifest', () => {
  it('have a port of their own, which no Service publishes', () => {
    const resources = resourcesOf('deploy/kubernetes.yaml');
    const pod = resources.find(({ kind }) => kind === 'Deployment')?.spec?.template?.spec;
    const container = pod?.containers.find(({ name }) => name === 'gateway');
    const metricsPort = container?.env?.find(({ name }) => name === 'METRICS_PORT')?.value;
    expect(container?.ports.slice(1)).toEqual([
      { name: 'metrics', containerPort: Number(metricsPort) },
    ]);
    const service = resources.find(
      ({ kind, metadata }) => kind === 'Service' && metadata.name === 'gateway',
    );
    expect(service?.spec?.ports).toEqual([{ name: 'http', port: 80, targetPort: 'http' }]);
  });
});

describe('compose.yaml', () => {
  it('starts on the sandbox where nothing is set and no file is there', () => {
    const { gateway } = servicesOf('compose.yaml');
    expect(gateway?.secrets).toBeUndefined();
    expect(JSON.stringify(gateway?.environment)).not.toContain(':?');
    const config = loadConfig(variablesOf(gateway), () => {
      throw new Error('There is no file.');
    });
    expect(config).toMatchObject({ sandbox: true, auth: { mode: 'none' } });
  });
});

describe('what is kept of requests already made', () => {
  it('lies in a volume, where the image has its STATE_DIR', () => {
    const dockerfile = readFileSync('Dockerfile', 'utf8');
    const place = `/app/${/STATE_DIR=([^/\s]+)/.exec(dockerfile)?.[1]}`;
    expect(servicesOf('compose.yaml')['gateway']?.volumes).toEqual([`state:${place}`]);
  });
});

describe('the memory of a gateway', () => {
  const { measurements } = JSON.parse(readFileSync('test/bench/results.json', 'utf8')) as Run;
  function figure(row: string): number {
    const found = measurements
      .flatMap(({ figures }) => figures)
      .find(({ label }) => label.startsWith(row));
    return (found?.value ?? Number.NaN) * (found?.unit === ' KB' ? 1000 : 1_000_000);
  }
  const byDefault = (name: string): number =>
    Number(settings.find((setting) => setting.name === name)?.default);
  const peak =
    figure('highest memory of the process') +
    byDefault('CACHE_MAX_BYTES') +
    usualLimits.liveMaxStreams * figure('memory of an idle stream');

  it('is limited at about twice what it was at most, with a full cache and all live queries', () => {
    expect(peak).toBeGreaterThan(200_000_000);
    const limits = [
      ...gateways.map(({ container }) => container.resources.limits['memory'] ?? ''),
      ...services
        .filter(({ name }) => name.startsWith('gateway'))
        .map(({ service }) => service.deploy?.resources?.limits?.memory ?? ''),
    ].map((limit) => Number.parseInt(limit, 10) * MIB);
    expect(limits).toHaveLength(2);
    for (const limit of limits) {
      expect(limit / peak).toBeGreaterThan(1.75);
      expect(limit / peak).toBeLessThan(2.5);
    }
  });

  it('is asked for as much as it takes after every kind of operation', () => {
    const usual = figure('highest memory after all rows');
    expect(usual).toBeGreaterThan(50_000_000);
    for (const { container } of gateways) {
      const asked = Number.parseInt(container.resources.requests['memory'] ?? '', 10) * MIB;
      expect(asked).toBeGreaterThan(usual + byDefault('CACHE_MAX_BYTES'));
    }
  });
});
