import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { servicesOf, variablesOf as variablesOfService } from '../support/deployed.ts';
import { commandOf, parseDockerfile, type Stage, variablesOf } from '../support/dockerfile.ts';
import { tempFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { type Running, start } from '../support/process.ts';

const stages = parseDockerfile(readFileSync('Dockerfile', 'utf8'));
const final = stages.at(-1);
const work = tempFolder();
const context = join(work, 'context');

/** The root file system of a stage, as a folder. */
const rootOf = (stage: string): string => join(work, `stage-${stage}`);
const app = join(rootOf(String(stages.length - 1)), 'app');

/** As whom a container engine, which is root, starts it: all but what is in `state` is read-only to them. */
const [uid, gid] = lines('USER')[0]?.split(':').map(Number) ?? [];
const isPossible =
  process.getuid?.() === 0 && spawnSync(process.execPath, ['-v'], { uid, gid }).status === 0;
const user = isPossible ? { uid, gid } : {};

function lines(keyword: string, stage: Stage | undefined = final): string[] {
  return (stage?.instructions ?? [])
    .filter((line) => line.keyword === keyword)
    .map(({ rest }) => rest);
}

describe('the Dockerfile', () => {
  it('builds on one image, a slim one of a supported Node, pinned by its digest', () => {
    const [base, ...others] = stages.map(({ image }) => image);
    expect(base).toMatch(/^node:24\.\d+\.\d+-slim@sha256:[0-9a-f]{64}$/);
    expect(others).toEqual([stages[0]?.name, stages[0]?.name]);
  });

  it('runs as a numbered user without rights and says which port', () => {
    expect(lines('USER')).toEqual(['1000:1000']);
    expect(lines('EXPOSE')).toEqual(['4000']);
  });

  it('says what it is, and on what it is built', () => {
    const labels = Object.fromEntries(
      [
        ...lines('LABEL')
          .join(' ')
          .matchAll(/org\.opencontainers\.image\.([\w.]+)="([^"]+)"/g),
      ].map(([, name, value]) => [name, value]),
    );
    const [tag, digest] = stages[0]?.image.split('@') ?? [];
    const { license, name } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(labels).toEqual({
      title: name,
      description: expect.any(String),
      licenses: license,
      'base.name': `docker.io/library/${tag}`,
      'base.digest': digest,
    });
  });

  it('decides nothing about who may ask', () => {
    expect(readFileSync('Dockerfile', 'utf8')).not.toMatch(/^\s*ENV.*(AUTH_MODE|API_KEY)/m);
  });
});

describe('the image', () => {
  let running: Running | undefined;
  let env: Record<string, string> = {};
  let url = '';

  beforeAll(async () => {
    copyContext();
    // A clone whose files no other user may read.
    for (const name of ['package.json', 'LICENSE']) chmodSync(join(context, name), 0o600);
    chmodSync(work, 0o755);
    for (const [index, stage] of stages.entries()) {
      replay(stage, stage.name ?? String(index));
    }
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    // The port is the only thing that is not the Dockerfile's: 4000 may be taken on this machine.
    env = { ...environmentOf(final), PORT: String(port) };
    env = { ...env, ...variablesOfService(servicesOf('compose.yaml')['gateway']) };
    running = run(commandOf(lines('ENTRYPOINT')[0] ?? ''));
    await running.says(/\/graphql/);
  }, 300_000);

  afterAll(async () => {
    running?.child.kill('SIGKILL');
    await running?.ended;
  });

  function run([command, ...args]: string[]): Running {
    expect(command).toBe('node');
    const cwd = join(rootOf(String(stages.length - 1)), lines('WORKDIR')[0] ?? '/');
    return start(process.execPath, args, { cwd, env, ...user });
  }

  it('answers a query in the environment of the Dockerfile and of compose.yaml alone', async () => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"query":"{ account { username } }"}',
    });
    expect(await response.json()).toMatchObject({
      data: { account: { username: expect.any(String) } },
    });
  });

  it('is healthy while it runs, and not when nothing listens', async () => {
    const [check = ''] = lines('HEALTHCHECK');
    expect(await run(commandOf(check)).ended).toBe(0);
    env = { ...env, PORT: '1' };
    expect(await run(commandOf(check)).ended).toBe(1);
  });

  it('shows a browser GraphiQL', async () => {
    const response = await fetch(`${url}/graphql`, { headers: { accept: 'text/html' } });
    expect(await response.text()).toContain('<title>GraphiQL');
  });

  it('holds the program, what says that it consists of modules, the licences, and nothing else', () => {
    expect(readdirSync(app).sort()).toEqual([
      'LICENSE',
      'dist',
      'node_modules',
      'package.json',
      'state',
    ]);
    expect(readdirSync(join(app, 'node_modules'))).toContain('classic-level');
    expect(readdirSync(join(app, 'node_modules'))).not.toContain('graphql');
    const built = readdirSync(join(app, 'dist')).sort();
    expect(built).toEqual([
      'THIRD-PARTY-NOTICES.txt',
      'chunks',
      'client',
      'main.js',
      'media',
      'pages',
      'sbom.cdx.json',
    ]);
    const files = readdirSync(join(app, 'dist'), { recursive: true, encoding: 'utf8' });
    expect(files.filter((path) => /\.map(\.br|\.gz)?$|\.ts$|bundled|made-from/.test(path))).toEqual(
      [],
    );
  });

  it('adds no more than 65 MB to the image that it is built on', () => {
    const sizes = readdirSync(app, { recursive: true, encoding: 'utf8' }).map(
      (path) => statSync(join(app, path)).size,
    );
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(65_000_000);
  });

  it('has all commands of the program', async () => {
    const [check, ...args] = commandOf(lines('ENTRYPOINT')[0] ?? '');
    const asked = run([check ?? '', ...args, '--version']);
    expect(await asked.ended).toBe(0);
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(asked.output()).toContain(version);
  });

  it('stops by SIGTERM', async () => {
    running?.child.kill('SIGTERM');
    expect(await running?.ended).toBe(0);
  });

  it('notes what is spent in a folder that no other user writes to, within one that is open to all', async () => {
    env = {
      ...env,
      PORT: '0',
      SANDBOX: 'off',
      AUTH_MODE: 'none',
      LINKS_BASE_URL: 'http://127.0.0.1:1',
      LINKS_API_KEY: 'a-key',
    };
    const second = run(commandOf(lines('ENTRYPOINT')[0] ?? ''));
    await second.says(/\/graphql/);
    second.child.kill('SIGTERM');
    expect(await second.ended).toBe(0);
    expect(second.output()).not.toContain('STATE_DIR');
    const state = join(app, 'state');
    expect(statSync(state).mode & 0o7777).toBe(0o1777);
    expect(statSync(join(state, 'gateway')).mode & 0o7777).toBe(0o700);
    expect(readdirSync(join(state, 'gateway')).sort()).toEqual(['store']);
  });
});

/** What `docker build .` would send: this folder without what .dockerignore names. */
function copyContext(): void {
  const ignored = readFileSync('.dockerignore', 'utf8').split('\n').filter(Boolean);
  cpSync('.', context, {
    recursive: true,
    filter: (path) => !ignored.some((pattern) => matches(path, pattern)),
  });
}

/** As Docker does: a `*` stands for no slash. */
function matches(path: string, pattern: string): boolean {
  if (!pattern.startsWith('*.')) return path === pattern;
  return path.endsWith(pattern.slice(1)) && !path.includes('/');
}

function environmentOf(stage: Stage | undefined): Record<string, string> {
  return Object.assign({}, ...lines('ENV', stage).map(variablesOf)) as Record<string, string>;
}

function replay(stage: Stage, name: string): void {
  const root = rootOf(name);
  let directory = '/';
  for (const { keyword, rest } of stage.instructions) {
    const here = join(root, directory);
    mkdirSync(here, { recursive: true });
    if (keyword === 'WORKDIR') {
      directory = rest;
    } else if (keyword === 'COPY') {
      copy(rest, here);
    } else if (keyword === 'RUN') {
      const { PATH = '', HOME = '' } = process.env;
      execute(rest, here, { PATH, HOME, ...environmentOf(stage) });
    }
  }
}

/**
 * Runs a command, with what was installed and built before the tests: the packages are not fetched again, and the build
 * makes what is not of the same sources. What the command said is in the failure: compilers complain on their standard
 * output.
 */
function execute(command: string, cwd: string, env: Record<string, string>): void {
  const [packages, dist] = [resolve('node_modules'), resolve('dist')];
  const script = command
    .replace(/^npm ci .*/, `cp -al '${packages}' . 2>/dev/null || cp -a '${packages}' .`)
    .replace(/^(?=npm run build\b)/, `cp -a '${dist}' . && `);
  const { status, stdout, stderr } = spawnSync('sh', ['-ec', script], {
    cwd,
    env,
    encoding: 'utf8',
  });
  expect(status, `${command}\n${stdout}${stderr}`).toBe(0);
}

function copy(rest: string, here: string): void {
  const words = rest.split(/\s+/);
  const from = words[0]?.startsWith('--from=') ? words.shift()?.slice('--from='.length) : undefined;
  const target = words.pop() ?? '.';
  for (const word of words) {
    const source = join(from === undefined ? context : rootOf(from), word);
    const into = join(here, target);
    cpSync(source, target.endsWith('/') ? join(into, basename(word)) : into, { recursive: true });
  }
}
