type Members = Record<string, unknown>;

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
