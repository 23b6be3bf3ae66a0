import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

interface Step {
  readonly uses?: string;
  readonly run?: string;
}
interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<
    Record<string, { permissions?: Record<string, string>; steps: readonly Step[] }>
  >;
}

const folder = '.github/workflows';
const workflows = readdirSync(folder).map((name) => {
  const text = readFileSync(`${folder}/${name}`, 'utf8');
  return { name, text, workflow: parse(text) as Workflow };
});

describe.each(workflows)('the workflow $name', ({ text, workflow }) => {
  const jobs = Object.values(workflow.jobs);

  it('runs nothing but what runs elsewhere too', () => {
    const commands = jobs.flatMap(({ steps }) => steps.flatMap(({ run = [] }) => run));
    expect(commands.length).toBeGreaterThan(0);
    const known = /^(\.ci\/run|\.ci\/release( --(tested|publish))?|npm ci)$/;
    expect(commands.filter((command) => !known.test(command))).toEqual([]);
  });

  it('names each action by its commit, and says which version that is', () => {
    const lines = text.split('\n').filter((line) => /\buses:/.test(line));
    expect(lines).toHaveLength(
      jobs.flatMap(({ steps }) => steps.filter(({ uses }) => uses)).length,
    );
    const pinned = /uses: actions\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;
    expect(lines.filter((line) => !pinned.test(line))).toEqual([]);
  });

  it('may write nothing where it runs what others have written', () => {
    expect(Object.values(workflow.permissions).filter((each) => each !== 'read')).toEqual([]);
    for (const { permissions = {}, steps } of jobs) {
      if (!Object.values(permissions).includes('write')) continue;
      const commands = steps.flatMap(({ run = [] }) => run);
      expect(commands).toEqual(['.ci/release --publish']);
    }
  });
});
