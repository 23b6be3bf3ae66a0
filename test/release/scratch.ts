import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { expect } from 'vitest';
import { tempFolder } from '../support/folder.ts';

/** How a program ended, and what it said. */
interface Outcome {
  readonly status: number | null;
  readonly output: string;
}

/** A clone in which a version can be released without harm: its files, its git, and the programs it finds. */
export class Scratch {
  readonly #root = tempFolder();
  readonly folder = join(this.#root, 'project');
  /** What programs are told: nothing of this machine, and no registry but the one of a test. */
  readonly env: Record<string, string> = {
    PATH: `${join(this.#root, 'bin')}${delimiter}${process.env['PATH'] ?? ''}`,
    HOME: this.#root,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_SYSTEM: '/dev/null',
    GIT_AUTHOR_NAME: 'A',
    GIT_AUTHOR_EMAIL: 'a@example.com',
    GIT_COMMITTER_NAME: 'A',
    GIT_COMMITTER_EMAIL: 'a@example.com',
    npm_config_registry: 'http://127.0.0.1:9',
    npm_config_fetch_retries: '0',
    npm_config_update_notifier: 'false',
  };

  constructor() {
    mkdirSync(this.folder);
    // Those of this machine build nothing in a test.
    for (const engine of ['docker', 'podman']) this.place(engine, 'exit 1');
  }

  /** Another one, as this one is now. */
  copy(): Scratch {
    const other = new Scratch();
    cpSync(this.#root, other.#root, { recursive: true });
    return other;
  }

  /** Puts a program in front of all others, which writes down how it is called. */
  place(name: string, script: string): void {
    this.write(
      `../bin/${name}`,
      `#!/bin/sh\necho "${name} $*" >>"$HOME/calls"\n${script}\n`,
      0o755,
    );
  }

  /** Takes such a program away. */
  unplace(name: string): void {
    rmSync(join(this.#root, 'bin', name));
  }

  /** How programs that were placed have been called, but for the question whether they run. */
  calls(): string[] {
    return this.read('../calls')
      .split('\n')
      .filter((line) => line !== '' && !line.endsWith(' version'));
  }

  /** Takes files of the project as they are. */
  take(...paths: readonly string[]): void {
    for (const path of paths) cpSync(path, join(this.folder, path), { recursive: true });
  }

  write(path: string, text: string, mode = 0o644): void {
    mkdirSync(join(this.folder, dirname(path)), { recursive: true });
    writeFileSync(join(this.folder, path), text, { mode });
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8');
  }

  json(path: string): Record<string, unknown> {
    return JSON.parse(this.read(path)) as Record<string, unknown>;
  }

  run(program: string, ...args: readonly string[]): Outcome {
    const { folder: cwd, env } = this;
    const { status, stdout, stderr } = spawnSync(program, args, { cwd, env, encoding: 'utf8' });
    return { status, output: stdout + stderr };
  }

  /** Runs git, which must succeed; what it printed comes back. */
  git(...args: readonly string[]): string {
    const { status, output } = this.run('git', ...args);
    expect(status, output).toBe(0);
    return output.trim();
  }

  /** Commits all that there is. */
  commit(): void {
    this.git('add', '--all');
    this.git('commit', '--quiet', '--message', 'Change');
  }

  remove(): void {
    rmSync(this.#root, { recursive: true });
  }
}
