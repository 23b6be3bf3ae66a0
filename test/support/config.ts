import { type Config, loadConfig } from '../../src/config/config.ts';
import type { ReadFile } from '../../src/config/environment.ts';
import { type Limits, usualLimits } from '../../src/config/limits.ts';

/**
 * Settings as in the environment, a ttl of a resource as `'ttl.channels': '1000'`, and what only tests choose of a gateway
 * in their own process: limits by their names (`jobsMax: '3'`), and `metrics: 'open'` without a port of their own.
 */
export type TestSettings = Readonly<Record<string, string>>;

/** The configuration of a gateway in this process. */
export function configOf(settings: TestSettings, readFile?: ReadFile): Config {
  const { metrics, ...others } = settings;
  const chosen = Object.entries(others).filter(([name]) => Object.hasOwn(usualLimits, name));
  const limits: Partial<Limits> = Object.fromEntries(chosen.map(([name, n]) => [name, Number(n)]));
  const env = Object.entries(others).filter(([name]) => !Object.hasOwn(usualLimits, name));
  const config = loadConfig(envOf(Object.fromEntries(env)), readFile, {
    ...usualLimits,
    ...limits,
  });
  return metrics === 'open' ? { ...config, metrics } : config;
}

/** The environment of a gateway in a process of its own. */
export function envOf(settings: TestSettings): Record<string, string> {
  const env: Record<string, string> = {};
  const ttls: Record<string, number> = {};
  for (const [name, value] of Object.entries(settings)) {
    if (name.startsWith('ttl.')) ttls[name.slice('ttl.'.length)] = Number(value);
    else if (name === 'metrics' || Object.hasOwn(usualLimits, name)) {
      throw new Error(`${name} cannot be set from the environment.`);
    } else env[name] = value;
  }
  if (Object.keys(ttls).length > 0) env['TTLS'] = JSON.stringify(ttls);
  return env;
}
