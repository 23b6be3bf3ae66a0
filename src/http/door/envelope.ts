/** The types of a request body that is one operation as JSON. */
const JSON_TYPES = new Set(['application/json', 'application/graphql+json']);

/** Whether a content type is that of an operation as JSON; case and parameters do not matter. */
export function isJson(contentType: string | null | undefined): boolean {
  if (contentType === 'application/json') return true;
  const [type = ''] = (contentType ?? '').split(';', 1);
  return JSON_TYPES.has(type.trim().toLowerCase());
}

/** Whether a value is an object with members of its own, as JSON has it. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What is wrong with the members of an envelope beside its text, for a person; `null` where nothing is. */
export function envelopeFault({
  extensions,
  operationName,
  variables,
}: Readonly<Record<string, unknown>>): string | null {
  if (!isAbsent(variables) && !isObject(variables)) return '`variables` must be an object.';
  if (!isAbsent(extensions) && !isObject(extensions)) return '`extensions` must be an object.';
  if (isAbsent(operationName)) return null;
  const isName = typeof operationName === 'string' && operationName !== '';
  return isName ? null : '`operationName` must be the name of an operation.';
}

/** Whether a member of an envelope is left out, in either way. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}
