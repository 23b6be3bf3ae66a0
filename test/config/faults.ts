import { ConfigError, loadConfig } from '../../src/config/config.ts';

/** What is wrong with a configuration; nothing where it can be used. */
export function faults(
  env: Readonly<Record<string, string>>,
  readFile?: Parameters<typeof loadConfig>[1],
): readonly string[] {
  try {
    loadConfig(env, readFile);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}
