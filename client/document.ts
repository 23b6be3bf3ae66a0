/** One operation of a JSON Patch (RFC 6902), of the kinds that the gateway sends. */
export type LivePatch =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move'; readonly from: string; readonly path: string };

type Members = Record<string, unknown>;

/**
 * Applies a patch to a document and returns the result; the document itself is not changed. Unchanged parts are the
 * same objects in both.
 * @throws TypeError if a path leads through a missing value.
 */
export function applyPatch(document: unknown, patch: readonly LivePatch[]): unknown {
  for (const step of patch) {
    let { value } = step as { value?: unknown };
    if (step.op === 'move') {
      const from = keysOf(step.from);
      value = from.reduce((part, key) => (part as Members)[key], document);
      document = edit(document, from, 'remove');
    }
    document = edit(document, keysOf(step.path), step.op, value);
  }
  return document;
}

function keysOf(path: string): string[] {
  return path
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function edit(part: unknown, keys: readonly string[], op: string, value?: unknown): unknown {
  const [key, ...rest] = keys;
  if (key === undefined) return value;
  if (rest.length) {
    value = edit((part as Members)[key], rest, op, value);
    op = 'replace';
  }
  const removes = op === 'remove';
  if (Array.isArray(part)) {
    const list = [...part];
    const place = key === '-' ? list.length : Number(key);
    list.splice(place, /^(add|move)$/.test(op) ? 0 : 1, ...(removes ? [] : [value]));
    return list;
  }
  // A computed key creates a member even for `__proto__`.
  const members = { ...(part as Members), [key]: value };
  if (removes) delete members[key];
  return members;
}

/** `after`, in which equal parts are the objects of `before`. */
export function share(before: unknown, after: unknown): unknown {
  if (
    before === after ||
    Object(before) !== before ||
    Object(after) !== after ||
    Array.isArray(before) !== Array.isArray(after)
  )
    return after;
  const names = Object.keys(after as Members);
  let equal = names.length === Object.keys(before as Members).length;
  // A spread creates a member even for `__proto__`.
  const shared = (Array.isArray(after) ? [...after] : { ...(after as Members) }) as Members;
  for (const name of names) {
    const old = Object.hasOwn(before as Members, name) ? (before as Members)[name] : undefined;
    shared[name] = share(old, shared[name]);
    equal &&= shared[name] === old;
  }
  return equal ? before : shared;
}
