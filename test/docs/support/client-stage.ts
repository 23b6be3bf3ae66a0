import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { blocksOf, makeProject, type Project } from './typed-page.ts';

const road = [...blocksOf('docs/frontend.md'), ...blocksOf('docs/frontend-reference.md')];

/** The files of docs/clients.md by name. */
export const clientBlocks = blocksOf('docs/clients.md');

/** A project with all files of docs/frontend.md, docs/frontend-reference.md and docs/clients.md. */
export interface ClientStage {
  readonly project: Project;
  /** Loads a file of `src/`. */
  readonly load: <Module>(name: string) => Promise<Module>;
}

/** Sets it up: Relay's compiler has read it when the first test begins. */
export function clientStage(): ClientStage {
  const project = makeProject();
  for (const [name, text] of [...road, ...clientBlocks]) {
    // What configures or runs beside the page stands beside `src/`.
    if (/\.js(?:on)?$/.test(name)) project.write(name, text);
    else if (/\.tsx?$/.test(name)) project.write(`src/${name}`, text);
  }
  beforeAll(async () => {
    const { status, output } = await project.run('relay-compiler/cli.js', 'relay.config.json');
    expect(status, output).toBe(0);
  });
  afterAll(() => rmSync(project.folder, { recursive: true }));
  return {
    project,
    load: (name) => import(/* @vite-ignore */ join(project.folder, 'src', name)),
  };
}

/** Does what a bundler's plugin for Relay does: puts what was compiled in the place of each tag. */
export function placeArtifacts({ folder, write }: Project): void {
  for (const name of readdirSync(join(folder, 'src')).filter((file) => file.startsWith('relay-'))) {
    const text = readFileSync(join(folder, 'src', name), 'utf8');
    const artifacts = new Set<string>();
    const code = text.replace(
      /graphql`\s*(?:query|mutation|fragment) (\w+)[^`]*`/g,
      (_, artifact) => {
        artifacts.add(String(artifact));
        return `${artifact}_artifact`;
      },
    );
    const imports = [...artifacts].map(
      (each) => `import ${each}_artifact from './__generated__/${each}.graphql.ts';\n`,
    );
    write(`src/${name}`, imports.join('') + code);
  }
}
