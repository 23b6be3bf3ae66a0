import type { Config } from './config.ts';
import { settings } from './settings.ts';

/**
 * The value of every setting, one per line, for `--check-config`. `env` is the source of `config`. For a secret,
 * only its source is shown.
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
    'The configuration is valid.',
    `It uses ${config.sandbox ? 'the sandbox: no API is configured' : 'real APIs'}.`,
    '',
    ...lines,
  ];
}
