import { spawnSync } from 'node:child_process';
import { type Running, start } from './process.ts';

let made = 0;

function run(...command: readonly string[]): boolean {
  const [program = '', ...args] = command;
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0;
}

/**
 * A namespace with a network of its own, over which a program reaches this one until that network is gone without a
 * word: no packet says that a connection has ended. Made by iproute2, which has to run as root.
 */
export class VanishingNetwork {
  /** Where this side is reached from inside. */
  readonly address: string;
  readonly #name: string;
  readonly #link: string;

  private constructor(name: string, link: string, address: string) {
    this.#name = name;
    this.#link = link;
    this.address = address;
  }

  /** Makes one; `null` where that cannot be done. */
  static make(): VanishingNetwork | null {
    made += 1;
    const id = `${process.pid % 100_000}-${made}`;
    const [name, link, inner] = [`vanish-${id}`, `vo${id}`, `vi${id}`];
    const net = `10.${200 + (made % 50)}.${process.pid % 250}`;
    const network = new VanishingNetwork(name, link, `${net}.1`);
    const isMade =
      run('ip', 'netns', 'add', name) &&
      run('ip', 'link', 'add', link, 'type', 'veth', 'peer', 'name', inner, 'netns', name) &&
      run('ip', 'addr', 'add', `${net}.1/30`, 'dev', link) &&
      run('ip', 'link', 'set', link, 'up') &&
      run('ip', 'netns', 'exec', name, 'ip', 'addr', 'add', `${net}.2/30`, 'dev', inner) &&
      run('ip', 'netns', 'exec', name, 'ip', 'link', 'set', inner, 'up');
    if (isMade) return network;
    network.remove();
    return null;
  }

  /** Starts a script of Node's inside. */
  start(script: string, env: Readonly<Record<string, string>>): Running {
    const { PATH = '' } = process.env;
    const args = ['netns', 'exec', this.#name, process.execPath, '-e', script];
    return start('ip', args, { cwd: '.', env: { PATH, ...env } });
  }

  /** From now on no packet passes. */
  vanish(): void {
    run(
      'ip',
      'netns',
      'exec',
      this.#name,
      'ip',
      'link',
      'set',
      this.#link.replace('vo', 'vi'),
      'down',
    );
  }

  /** Takes it away. What runs inside goes on. */
  remove(): void {
    run('ip', 'link', 'del', this.#link);
    run('ip', 'netns', 'del', this.#name);
  }
}
