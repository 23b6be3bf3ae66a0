import { perResource, type Resource, resourceNames, resources } from '../resources.ts';
import { isObject, jsonIn } from '../storage/json.ts';
import type { EnvironmentReader } from './environment.ts';

const MOST_MS = 86_400_000;

/** How long the responses of each resource count as fresh, in milliseconds, from the setting `TTLS`. */
export function readTtls(reader: EnvironmentReader): Readonly<Record<Resource, number>> {
  const text = reader.text('TTLS');
  const parsed = jsonIn(text);
  const given = isObject(parsed) ? parsed : {};
  if (given !== parsed) {
    reader.fault('TTLS is not a JSON object. Set it to one such as {"channels": 10000}.');
  }
  for (const [name, ms] of Object.entries(given)) {
    if (!(resourceNames as readonly string[]).includes(name)) {
      reader.fault(
        `TTLS names ${JSON.stringify(name.slice(0, 40))}, which is not a resource. Use ${resourceNames.join(', ')}.`,
      );
    } else if (!Number.isInteger(ms) || !(Number(ms) >= 0 && Number(ms) <= MOST_MS)) {
      reader.fault(`TTLS has a value of ${name} that is not an integer from 0 to ${MOST_MS}.`);
    }
  }
  return Object.freeze(
    perResource((resource) => Number(given[resource] ?? resources[resource].ttlMs)),
  );
}
