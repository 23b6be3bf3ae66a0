import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { versions } from '../support/nodes.ts';

interface Step {
  readonly uses?: string;
  readonly run?: string;
}
interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  /** A workflow whose jobs it runs, in place of steps. */
  readonly uses?: string;
  readonly strategy?: { readonly matrix: { readonly node: readonly string[] } };
  readonly container?: string;
  readonly steps?: readonly Step[];
}
interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const folder = '.github/workflows';
const workflows = readdirSync(folder).map((name) => {
  const text = readFileSync(`${folder}/${name}`, 'utf8');
  return { name, text, workflow: parse(text) as Workflow };
});

describe.each(workflows)('the workflow $name', ({ text, workflow }) => {
  const jobs = Object.values(workflow.jobs);
  const allSteps = jobs.flatMap(({ steps = [] }) => steps);

  it('runs nothing but what runs elsewhere too', () => {
    const commands = allSteps.flatMap(({ run = [] }) => run);
    expect(commands.length).toBeGreaterThan(0);
    const known = /^(\.ci\/run|\.ci\/release( --(tested|publish))?|npm ci)$/;
    expect(commands.filter((command) => !known.test(command))).toEqual([]);
  });

  it('names each action by its commit, and says which version that is', () => {
    const lines = text.split('\n').filter((line) => /\buses:/.test(line));
    expect(lines).toHaveLength([...jobs, ...allSteps].filter(({ uses }) => uses).length);
    // Its own workflows come with the commit that runs.
    const pinned =
      /uses: (actions\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\.\/\.github\/workflows\/ci\.yml)$/;
    expect(lines.filter((line) => !pinned.test(line))).toEqual([]);
  });

  it('may write nothing where it runs what others have written', () => {
    expect(Object.values(workflow.permissions).filter((each) => each !== 'read')).toEqual([]);
    for (const { permissions = {}, steps = [] } of jobs) {
      if (!Object.values(permissions).includes('write')) continue;
      const commands = steps.flatMap(({ run = [] }) => run);
      expect(commands).toEqual(['.ci/release --publish']);
    }
  });
});

it('runs the tests on each Node that is supported, for a change and for a release', () => {
  const jobsOf = (file: string) => workflows.find(({ name }) => name === file)?.workflow.jobs;
  expect(jobsOf('ci.yml')?.['run']).toMatchObject({
    strategy: { matrix: { node: versions } },
    container: expect.stringContaining('node:${{ matrix.node }}-'),
  });
  expect(jobsOf('release.yml')?.['test']?.uses).toBe('./.github/workflows/ci.yml');
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    engines: { node: string };
  };
  expect(engines.node).toBe(`>=${versions[0]}`);
});
