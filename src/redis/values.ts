/** The members of an object that was written as JSON; none for any other text. Never throws. */
export function jsonMembers(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** A list in the reply of a script; empty for anything else. */
export function listOf(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : [];
}

/** Pairs that come one after the other in a list. */
export function pairsIn(reply: unknown): (readonly [string, string])[] {
  const flat = listOf(reply).map(String);
  return flat.flatMap((each, at) => (at % 2 === 0 ? [[each, flat[at + 1] ?? ''] as const] : []));
}
