import type { ExecutionResult } from 'graphql';

/** The data of an answer that was written as JSON when it was made. `JSON.stringify` writes it as the value it is. */
class JsonText {
  readonly json: string;

  /** `json` is valid JSON, and not checked again. */
  constructor(json: string) {
    this.json = json;
  }

  toJSON(): unknown {
    return JSON.parse(this.json) as unknown;
  }
}

/** A result that may know how it is written, which Yoga asks for. */
export interface WrittenResult extends ExecutionResult {
  readonly stringify?: typeof jsonOfResult;
}

/** The result of a query whose data is JSON already. */
export function writtenResult(json: string): object {
  return { data: new JsonText(json), stringify: jsonOfResult };
}

/** A result as JSON. Data that is JSON already is copied, and not read. */
export function jsonOfResult(result: ExecutionResult): string {
  const { data, ...others } = result;
  if (!(data instanceof JsonText)) return JSON.stringify(result);
  const rest = JSON.stringify(others);
  return rest === '{}' ? `{"data":${data.json}}` : `{"data":${data.json},${rest.slice(1)}`;
}
