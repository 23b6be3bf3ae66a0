import { readFileSync } from 'node:fs';
import { isSendable, UNSENDABLE } from '../../config/secret-text.ts';
import { reasonOf } from '../../errors.ts';
import { readArguments } from '../arguments.ts';
import { UsageError } from '../faults.ts';

/** The input of `startExport`, as the graph has it. */
export interface ExportRequest {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly format: 'CSV' | 'JSONL';
  readonly maxPerMinute: number | null;
}

/** What the command line of an export asks for. */
export interface ExportOptions {
  readonly request: ExportRequest;
  /** Address of the gateway, without a slash at its end. */
  readonly url: string;
  /** `null` for a gateway that needs none. */
  readonly token: string | null;
  /** File for the rows; `null` for standard output. */
  readonly output: string | null;
}

const FORMATS = { jsonl: 'JSONL', csv: 'CSV' } as const;

/**
 * Reads the command line, the files that it names, and the token in `GATEWAY_TOKEN`.
 * @throws UsageError if one of them is missing or invalid. It never contains the token.
 */
export function exportOptions(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ExportOptions {
  const { others, values } = readArguments(
    args,
    {
      url: { type: 'string', default: 'http://127.0.0.1:4000' },
      variables: { type: 'string', default: '{}' },
      format: { type: 'string', default: 'jsonl' },
      'max-per-minute': { type: 'string' },
      output: { type: 'string' },
    },
    1,
  );
  const [file] = others;
  if (file === undefined) {
    throw new UsageError('export needs the file of a query, or - for standard input.');
  }
  if (values.output === '') throw new UsageError('--output must name a file.');
  return {
    url: urlOf(values.url),
    token: tokenOf(env['GATEWAY_TOKEN']),
    output: values.output ?? null,
    request: {
      // 0 is standard input.
      query: textOf(file === '-' ? 0 : file),
      variables: variablesOf(values.variables),
      format: formatOf(values.format),
      maxPerMinute: paceOf(values['max-per-minute']),
    },
  };
}

function urlOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPlain = url && !url.username && !url.password && !url.search && !url.hash;
  if (!isPlain || !/^https?:$/.test(url.protocol)) {
    throw new UsageError('--url must be an address such as http://127.0.0.1:4000.');
  }
  return url.href.replace(/(\/graphql)?\/?$/, '');
}

function tokenOf(value: string | undefined): string | null {
  const token = value?.trim() || null;
  if (token === null || isSendable(token)) return token;
  throw new UsageError(`GATEWAY_TOKEN contains ${UNSENDABLE}.`);
}

function textOf(file: string | 0): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const name = file === 0 ? 'Standard input' : file;
    throw new UsageError(`${name} cannot be read (${reasonOf(error)}).`);
  }
}

function variablesOf(value: string): Record<string, unknown> {
  const text = value.startsWith('@') ? textOf(value.slice(1)) : value;
  try {
    const variables: unknown = JSON.parse(text);
    if (typeof variables === 'object' && variables !== null && !Array.isArray(variables)) {
      return variables as Record<string, unknown>;
    }
  } catch {
    // The same as for other JSON.
  }
  throw new UsageError('--variables must be a JSON object, or @ and the name of a file with one.');
}

function formatOf(word: string): ExportRequest['format'] {
  if (word === 'jsonl' || word === 'csv') return FORMATS[word];
  throw new UsageError('--format must be jsonl or csv.');
}

function paceOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError('--max-per-minute must be a positive integer.');
}
