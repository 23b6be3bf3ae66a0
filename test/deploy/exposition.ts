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
