/** A metric as `/metrics` shows it. */
export interface Family {
  readonly name: string;
  readonly type: string;
  /** Each label that one of its samples has, with the values that were seen. */
  readonly labels: ReadonlyMap<string, ReadonlySet<string>>;
  /** How many samples it has. */
  readonly samples: number;
}

/** The metrics of an answer of `/metrics`, by their names. */
export function readExposition(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  let last: { samples: number; labels: Map<string, Set<string>>; name: string } | undefined;
  for (const line of text.split('\n')) {
    const [, declared = '', type = ''] = /^# TYPE (\w+) (\w+)$/.exec(line) ?? [];
    if (declared !== '') {
      const family = { name: declared, type, labels: new Map<string, Set<string>>(), samples: 0 };
      families.set(declared, family);
      last = family;
    } else if (last && /^\w/.test(line)) {
      last.samples += 1;
      const pairs = /^\w+\{(.*)\} /.exec(line)?.[1] ?? '';
      for (const [, label = '', value = ''] of pairs.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
        last.labels.set(label, (last.labels.get(label) ?? new Set()).add(value));
      }
    }
  }
  return families;
}

/** Two answers as one: what either reports. */
export function joined(...all: readonly Map<string, Family>[]): Map<string, Family> {
  const both = new Map<string, Family>();
  for (const family of all.flatMap((each) => [...each.values()])) {
    const other = both.get(family.name);
    const labels = new Map(other?.labels);
    for (const [label, values] of family.labels) {
      labels.set(label, new Set([...(labels.get(label) ?? []), ...values]));
    }
    const samples = family.samples + (other?.samples ?? 0);
    both.set(family.name, { ...family, labels, samples });
  }
  return both;
}
