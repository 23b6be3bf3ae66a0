import { Gauge, type Registry } from 'prom-client';

/** Defines a value that is read at each scrape and costs nothing in between; it is missing while undefined. */
export function defineGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => number | undefined,
): void {
  defineGauges(registry, name, help, [], () => {
    const value = read();
    return value === undefined ? [] : [[{}, value]];
  });
}

/** The same for a value of each combination of labels; one that `read` does not return is missing. */
export function defineGauges<L extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly L[],
  read: () => readonly (readonly [labels: Partial<Record<L, string>>, value: number])[],
): void {
  const gauge: Gauge<L> = new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      // Without labels, this would be the value 0.
      if (labelNames.length > 0) gauge.reset();
      for (const [labels, value] of read()) gauge.set(labels, value);
    },
  });
}
