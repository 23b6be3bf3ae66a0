import { type Config, loadConfig } from '../config/config.ts';
import { settings } from '../config/settings.ts';
import { readOptions } from './arguments.ts';
import { exitCode } from './faults.ts';

/**
 * Prints the value of each setting. With `--probe` it also sends one request to each upstream, which counts
 * against its rate limit: the process then exits with 2 if a setting must be corrected, and with 1 if something is
 * unreachable.
 * @throws UsageError for another argument, ConfigError for an invalid configuration.
 */
export async function checkConfig(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const options = readOptions(args, { probe: { type: 'boolean' } });
  const config = loadConfig(env);
  process.stdout.write(`${describeConfig(config, env).join('\n')}\n`);
  if (!options.probe) return;
  const { probe } = await import('./probe.ts');
  const { lines, wrong } = await probe(config);
  process.stdout.write(`\n${lines.join('\n')}\n`);
  if (wrong === 'nothing') return;
  process.exitCode = wrong === 'configuration' ? exitCode.usage : exitCode.fault;
}

/**
 * The value of every setting, one per line, for `--check-config`. `env` is the source of `config`. For a secret,
 * only its source is shown.
 */
function describeConfig(
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
