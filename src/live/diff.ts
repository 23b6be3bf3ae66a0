/**
 * One operation of a JSON Patch (RFC 6902). A path is a JSON pointer; its list indexes are those after the previous
 * operations.
 */
export type PatchOperation =
  | { readonly op: 'add'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'move'; readonly from: string; readonly path: string };

type Members = Readonly<Record<string, unknown>>;
type List = readonly unknown[];
/** The identity of a row in its list. */
type Identity = string | number;

/**
 * The steps that convert one JSON value into another; none if they are equal. Lists whose rows have unique ids
 * (`id`, or else `node.id`) on both sides are matched by them: an inserted row is one `add`, and of reordered rows
 * as few as possible are moved. Other lists are matched by index, between their common beginning and end. A part
 * without common content is replaced as a whole. Takes about linear time, plus the length of its list for each
 * moved row. `path` is the prefix of every path.
 */
export function diff(before: unknown, after: unknown, path = ''): PatchOperation[] {
  const patch: PatchOperation[] = [];
  change(before, after, path, patch);
  return patch;
}

/** Adds the steps for one value; returns whether the two versions have no common content. */
function change(before: unknown, after: unknown, path: string, patch: PatchOperation[]): boolean {
  if (before === after) return false;
  if (Array.isArray(before) && Array.isArray(after)) return changeList(before, after, path, patch);
  if (isObject(before) && isObject(after)) return changeMembers(before, after, path, patch);
  patch.push({ op: 'replace', path, value: after });
  return true;
}

/** The same for a part of a value: without common content, one step replaces many. */
function changePart(
  before: unknown,
  after: unknown,
  path: string,
  patch: PatchOperation[],
): boolean {
  const start = patch.length;
  const isWhole = change(before, after, path, patch);
  if (isWhole && patch.length - start > 1) {
    patch.length = start;
    patch.push({ op: 'replace', path, value: after });
  }
  return isWhole;
}

function changeMembers(
  before: Members,
  after: Members,
  path: string,
  patch: PatchOperation[],
): boolean {
  const start = patch.length;
  for (const name of Object.keys(before)) {
    if (!Object.hasOwn(after, name)) patch.push({ op: 'remove', path: below(path, name) });
  }
  let isWhole = true;
  for (const name of Object.keys(after)) {
    const place = below(path, name);
    if (!Object.hasOwn(before, name)) patch.push({ op: 'add', path: place, value: after[name] });
    else if (!changePart(before[name], after[name], place, patch)) isWhole = false;
  }
  return isWhole && patch.length > start;
}

function changeList(before: List, after: List, path: string, patch: PatchOperation[]): boolean {
  for (const identify of [ownId, idOfNode]) {
    const olds = identities(before, identify);
    const news = olds && identities(after, identify);
    if (news) return changeRows({ before, after, olds, news }, path, patch);
  }
  return changePlaces(before, after, path, patch);
}

/** Matches the rows between the common start and end of two lists by index. */
function changePlaces(before: List, after: List, path: string, patch: PatchOperation[]): boolean {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && isEqual(before[head], after[head])) head += 1;
  let tail = 0;
  while (tail < shorter - head && isEqual(before.at(-1 - tail), after.at(-1 - tail))) tail += 1;
  const start = patch.length;
  let isWhole = head + tail === 0;
  const common = shorter - tail;
  for (let place = head; place < common; place += 1) {
    if (!changePart(before[place], after[place], `${path}/${place}`, patch)) isWhole = false;
  }
  for (let place = before.length - tail - 1; place >= common; place -= 1) {
    patch.push({ op: 'remove', path: `${path}/${place}` });
  }
  for (let place = common; place < after.length - tail; place += 1) {
    patch.push({ op: 'add', path: `${path}/${place}`, value: after[place] });
  }
  return isWhole && patch.length > start;
}

/** Two lists and the identities of their rows. */
interface Rows {
  readonly before: List;
  readonly after: List;
  readonly olds: readonly Identity[];
  readonly news: readonly Identity[];
}

function changeRows(rows: Rows, path: string, patch: PatchOperation[]): boolean {
  const { before, after, olds, news } = rows;
  const places = new Map(olds.map((row, place) => [row, place]));
  removeRows(olds, new Set(news), path, patch);
  placeRows(rows, places, path, patch);
  let kept = 0;
  for (const [place, row] of news.entries()) {
    const was = places.get(row);
    if (was === undefined) continue;
    kept += 1;
    changePart(before[was], after[place], `${path}/${place}`, patch);
  }
  return kept === 0 && before.length + after.length > 0;
}

/** From the end, so that indexes stay valid. */
function removeRows(
  olds: readonly Identity[],
  wanted: ReadonlySet<Identity>,
  path: string,
  patch: PatchOperation[],
): void {
  for (let place = olds.length - 1; place >= 0; place -= 1) {
    if (!wanted.has(olds[place] as Identity))
      patch.push({ op: 'remove', path: `${path}/${place}` });
  }
}

/** Adds new rows and moves as few as possible: the longest sequence of rows in unchanged order stays. */
function placeRows(
  { after, olds, news }: Rows,
  places: ReadonlyMap<Identity, number>,
  path: string,
  patch: PatchOperation[],
): void {
  const was = news.map((row) => places.get(row));
  const staying = longestRise(was.filter((place) => place !== undefined));
  const wanted = new Set(news);
  /** The list after each step. Rows that are moved later can be anywhere in it. */
  const list = olds.filter((row) => wanted.has(row));
  /** The index of the last row that is already in its place. */
  let last = -1;
  for (const [index, row] of news.entries()) {
    const place = was[index];
    if (place === undefined) {
      last += 1;
      list.splice(last, 0, row);
      patch.push({ op: 'add', path: `${path}/${last}`, value: after[index] });
    } else if (staying.has(place)) {
      last = list.indexOf(row, last + 1);
    } else {
      const from = list.indexOf(row);
      list.splice(from, 1);
      // After a removal before it, its index is one lower.
      if (from > last) last += 1;
      list.splice(last, 0, row);
      patch.push({ op: 'move', from: `${path}/${from}`, path: `${path}/${last}` });
    }
  }
}

/** A longest increasing subsequence of these distinct numbers. */
function longestRise(numbers: readonly number[]): ReadonlySet<number> {
  /** For each length, the index of the lowest end of an increasing subsequence. */
  const ends: number[] = [];
  /** For each index, its predecessor in the subsequence. */
  const previous: (number | undefined)[] = [];
  for (const [index, number] of numbers.entries()) {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((numbers[ends[middle] as number] as number) < number) low = middle + 1;
      else high = middle;
    }
    previous.push(ends[low - 1]);
    ends[low] = index;
  }
  const rise = new Set<number>();
  for (let index = ends.at(-1); index !== undefined; index = previous[index]) {
    rise.add(numbers[index] as number);
  }
  return rise;
}

/** The ids of all rows, in order; `undefined` if one is missing or repeated. */
function identities(
  list: List,
  identify: (row: Members) => unknown,
): readonly Identity[] | undefined {
  const found = new Set<Identity>();
  for (const row of list) {
    const id = isObject(row) ? identify(row) : undefined;
    if (typeof id !== 'string' && typeof id !== 'number') return undefined;
    found.add(id);
  }
  return found.size === list.length ? [...found] : undefined;
}

const ownId = (row: Members): unknown => row['id'];
const idOfNode = ({ node }: Members): unknown => (isObject(node) ? node['id'] : undefined);

function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((each, place) => isEqual(each, other[place]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isEqual(one[name], other[name]))
  );
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The path of a member. */
function below(path: string, name: string): string {
  return `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
