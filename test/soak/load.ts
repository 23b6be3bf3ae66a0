/** An answer of the gateway, as far as the soak looks at it. */
export interface Answer {
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly { readonly extensions?: { readonly code?: string } }[];
}

/** One thing that a caller does, and what is wrong with the answer, if anything is. */
export interface Errand {
  readonly query: string;
  readonly variables?: Record<string, unknown>;
  readonly check: (answer: Answer) => string | null;
}

/** Numbers that look random and are the same for the same seed, so that a failure can be had again. */
export function createDice(seed: number): (sides: number) => number {
  let state = seed >>> 0;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

/** Reads whose right answers never change; `truth` is what each answered when all was well. */
export const reads: readonly string[] = [
  '{ account { id username email status } }',
  '{ channels(first: 5) { totalCount nodes { id name } } }',
  '{ channels(first: 3) { nodes { name items(first: 4) { totalCount nodes { __typename } } } } }',
  '{ channels(last: 2) { nodes { id } pageInfo { hasNextPage } } }',
  '{ campaigns(first: 20) { totalCount edges { cursor node { name } } } }',
  '{ qrCodes(first: 10) { nodes { id name } } pixels(first: 10) { nodes { name type } } }',
  '{ plans { name } account { username } }',
  '{ seller { username } }',
  '{ items(first: 5) { totalCount nodes { name } } seller { username } }',
];

/** What differs between a right answer and this one, field by field; fields that failed are left out. */
export function difference(truth: unknown, found: unknown, path = ''): string | null {
  if (found === null) return null;
  if (typeof truth !== 'object' || truth === null) {
    return Object.is(truth, found)
      ? null
      : `${path}: ${JSON.stringify(found)} is not ${JSON.stringify(truth)}`;
  }
  const [theirs, ours] = [found as Record<string, unknown>, truth as Record<string, unknown>];
  const members = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
  for (const member of members) {
    const wrong =
      member in theirs && member in ours
        ? difference(ours[member], theirs[member], `${path}.${member}`)
        : `${path}.${member} is there in only one of them`;
    if (wrong) return wrong;
  }
  return null;
}
