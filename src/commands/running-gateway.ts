import type { Config } from '../config/config.ts';
import { proofOf } from '../operators/probe-proof.ts';
import type { Probed } from '../operators/upstream-probe.ts';
import type { Clock } from '../scheduling/clock.ts';

/** Beside the waits and timeouts of the requests, in milliseconds. */
const SLACK_MS = 5000;

/**
 * Has the gateway that runs with these settings on this machine ask its upstreams, in its own budget. `null` where none
 * listens at the port of the settings, or it has other upstream keys: then nothing was asked.
 */
export async function askRunning(config: Config, clock: Clock): Promise<Probed | null> {
  const { host, links, market, maxWaitMs } = config;
  const port = config.metricsPort ?? config.port;
  const secrets = [links, market].flatMap(({ endpoint }) => endpoint?.apiKey || []);
  if (port === 0 || secrets.length === 0) return null;
  const name =
    { '0.0.0.0': '127.0.0.1', '::': '[::1]' }[host] ?? (host.includes(':') ? `[${host}]` : host);
  const patienceMs = maxWaitMs + Math.max(links.timeoutMs, market.timeoutMs) + SLACK_MS;
  try {
    const response = await fetch(`http://${name}:${port}/probe`, {
      method: 'POST',
      headers: { authorization: proofOf(secrets, clock.wall()) },
      redirect: 'manual',
      signal: AbortSignal.timeout(patienceMs),
    });
    const probed = response.ok ? ((await response.json()) as unknown) : null;
    if (!isProbed(probed)) return null;
    const first = `The gateway on port ${port} has sent the requests, within its rate limit.`;
    return { lines: [first, ...probed.lines], wrong: probed.wrong };
  } catch {
    return null;
  }
}

/** Any other program can listen there. */
function isProbed(answer: unknown): answer is Probed {
  if (typeof answer !== 'object' || answer === null) return false;
  const { lines, wrong } = answer as Partial<Probed>;
  const isKnown = wrong === 'nothing' || wrong === 'world' || wrong === 'configuration';
  return isKnown && Array.isArray(lines) && lines.every((line) => typeof line === 'string');
}
