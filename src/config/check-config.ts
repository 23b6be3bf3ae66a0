import type { Config } from './config.ts';
import { settings } from './settings.ts';

/**
 * The value of every setting, a line each, for `--check-config`. `env` is what `config` was read from.
 * A secret shows only where it comes from.
 */
export function describeConfig(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
): string[] {
  const width = Math.max(...settings.map(({ name }) => name.length));
  const given = (name: string): string => (env[name] ?? '').trim();
  const lines = settings.map((setting) => {
    const { name, secret } = setting;
    const file = secret ? given(`${name}_FILE`) : '';
    const value = given(name) || setting.default;
    const shown = secret && (file || value) ? '********' : value;
    const source = file ? ` (from ${file})` : given(name) || !value ? '' : ' (default)';
    return `${name.padEnd(width)}  ${shown === null ? 'not set' : shown}${source}`;
  });
  return [
    'The configuration is usable.',
    `It runs on ${config.sandbox ? 'its sandbox: no upstream is configured' : 'real upstreams'}.`,
    '',
    ...lines,
  ];
}
