import { describeConfig } from '../config/check-config.ts';
import { loadConfig } from '../config/config.ts';
import { readOptions } from './arguments.ts';
import { exitCode } from './faults.ts';

/**
 * Says what the settings come to. With `--probe` also asks each upstream one question, which counts against its rate
 * limit, and connects to Redis: the process then ends with 2 where a setting is to be mended, and with 1 where
 * something cannot be asked.
 * @throws UsageError for another argument, ConfigError for a faulty configuration.
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
