import type { Answer, Errand } from './load.ts';

interface Known {
  readonly id: string;
  readonly domain: string;
}

/**
 * Adds and removes domains, and knows at any time which ones a reader must see: what one write has
 * confirmed holds for every read that begins after it.
 */
export class Domains {
  readonly #present = new Map<string, Known>();
  readonly #absent = new Set<string>();
  /** Domains whose last write may or may not have happened. */
  readonly #doubtful = new Set<string>();
  /** Domains that are being changed right now. */
  readonly #busy = new Set<string>();
  #count = 0;

  /** Whether there are so many that one should go. */
  get many(): boolean {
    return this.#present.size > 40;
  }

  add(): Errand {
    this.#count += 1;
    const domain = `https://soak-${this.#count}.example`;
    return {
      query:
        'mutation ($domain: String!) { createDomain(input: { domain: $domain }) { __typename ... on BrandedDomain { id } } }',
      variables: { domain },
      check: ({ data, errors }) => {
        const made = data?.['createDomain'] as
          | { __typename: string; id?: string }
          | null
          | undefined;
        if (made?.id) this.#present.set(domain, { id: made.id, domain });
        else if (codesOf(errors).includes('OUTCOME_UNKNOWN')) this.#doubtful.add(domain);
        return null;
      },
    };
  }

  /** `null` when there is none to remove. */
  remove(): Errand | null {
    const first = [...this.#present.values()].find(({ domain }) => !this.#busy.has(domain));
    if (!first) return null;
    const { id, domain } = first;
    this.#busy.add(domain);
    return {
      query: 'mutation ($id: ID!) { deleteDomain(id: $id) { __typename } }',
      variables: { id },
      check: ({ data, errors }) => {
        this.#busy.delete(domain);
        if (codesOf(errors).includes('OUTCOME_UNKNOWN')) {
          this.#present.delete(domain);
          this.#doubtful.add(domain);
        } else if (data?.['deleteDomain']) {
          this.#present.delete(domain);
          this.#absent.add(domain);
        }
        return null;
      },
    };
  }

  /** Reads them all, and holds the answer against what was confirmed when it was asked. */
  list(): Errand {
    const due = [...this.#present.keys()].filter((domain) => !this.#busy.has(domain));
    const gone = [...this.#absent];
    return {
      query: '{ domains(first: 200) { nodes { domain } } }',
      check: ({ data }) => {
        const page = data?.['domains'] as { nodes: { domain: string }[] } | null | undefined;
        if (!page) return null;
        const shown = new Set(page.nodes.map(({ domain }) => domain));
        // A write that began while this was read may show or not.
        const settled = (domain: string): boolean =>
          !this.#busy.has(domain) && !this.#doubtful.has(domain);
        const missing = due.find(
          (domain) => this.#present.has(domain) && settled(domain) && !shown.has(domain),
        );
        const ghost = gone.find((domain) => shown.has(domain));
        if (missing) return `${missing} was added and is not shown`;
        return ghost ? `${ghost} was removed and is shown` : null;
      },
    };
  }
}

function codesOf(errors: Answer['errors']): string[] {
  return (errors ?? []).map(({ extensions }) => extensions?.code ?? '');
}
