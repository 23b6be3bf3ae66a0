import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What packing does not need, or would change. */
const leftOut = ['.git', 'examples', 'node_modules', 'test'];

/** Takes the place of the build. */
const BUILD = '"build": "touch dist/built"';

/**
 * What `npm pack` makes of a copy of the sources: it changes package.json for a moment, which other tests read. In the
 * copy, `dist` is what was built before the tests.
 */
export class Packed {
  /** Empty folders of the tests are here too. */
  readonly #root = mkdtempSync(join(tmpdir(), 'package-'));
  /** The manifest of the copy. */
  readonly manifest: string;
  /** The path of the packed file. */
  readonly file: string;

  constructor() {
    const clone = join(this.#root, 'clone');
    const target = this.folder('packed');
    mkdirSync(clone);
    for (const name of readdirSync('.')) {
      if (!leftOut.includes(name)) cpSync(name, join(clone, name), { recursive: true });
    }
    this.manifest = readFileSync('package.json', 'utf8').replace(/"build": "[^"]+"/, BUILD);
    writeFileSync(join(clone, 'package.json'), this.manifest);
    const args = ['pack', '--silent', '--pack-destination', target];
    const { NODE_ENV: _, ...env } = process.env;
    execFileSync('npm', args, { cwd: clone, env });
    this.file = join(target, readdirSync(target)[0] ?? '');
  }

  /** The copy of the sources that was packed. */
  get clone(): string {
    return join(this.#root, 'clone');
  }

  /** A new folder that is empty. */
  folder(name: string): string {
    const path = join(this.#root, name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  /**
   * An environment without anything of this process but the way to programs: `node` in the first of `folders`, npm, and
   * a shell. npm has a home and a cache of its own, and asks no registry.
   */
  environment(folders: readonly string[]): Record<string, string> {
    return {
      HOME: this.folder('home'),
      PATH: [...folders, process.env['PATH'] ?? ''].join(':'),
      npm_config_offline: 'true',
      npm_config_update_notifier: 'false',
    };
  }

  remove(): void {
    rmSync(this.#root, { recursive: true, force: true });
  }
}
