import { expect } from 'vitest';
import type { PageExample } from './readme.ts';

/** What a curl command sends, as `fetch` takes it. */
interface CurlRequest {
  /** Path and query. */
  readonly target: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | FormData | Uint8Array<ArrayBuffer> | null;
}

/** Flags that only say what curl shows of the answer. */
const silent = ['-s', '-i', '-N'];

/** The bytes of whatever file a command names. */
const someFile = new TextEncoder().encode('a picture of a harbour');

/**
 * Reads a curl command as a shell and curl would, as far as our pages go.
 * @throws Error for what they do not use yet.
 */
function readCurl(command: string): CurlRequest {
  const words = wordsOf(command);
  if (words.shift() !== 'curl') throw new Error(`no curl command: ${command}`);
  const headers: Record<string, string> = {};
  const form = new FormData();
  const query = new URLSearchParams();
  let url: URL | undefined;
  let data: string | null = null;
  let uploads = false;
  let gets = false;
  const next = (): string => {
    const word = words.shift();
    if (word === undefined) throw new Error(`curl wants another word: ${command}`);
    return word;
  };
  while (words.length > 0) {
    const word = next();
    if (word === '-G') gets = true;
    else if (word === '-H') {
      const [name, value] = cut(next(), /:\s*/);
      headers[name] = value;
    } else if (word === '-d') data = next();
    else if (word === '--data-urlencode') query.append(...cut(next(), '='));
    else if (word === '-F') {
      const [name, value] = cut(next(), '=');
      form.append(name, value.startsWith('@') ? new File([someFile], value.slice(1)) : value);
    } else if (word === '-T') {
      next();
      uploads = true;
    } else if (!word.startsWith('-') && !url) url = new URL(word);
    else if (!silent.includes(word)) throw new Error(`curl with ${word}`);
  }
  const { pathname, searchParams } = url ?? new URL('/', command);
  if (gets) for (const [name, value] of query) searchParams.append(name, value);
  const target = searchParams.size > 0 ? `${pathname}?${searchParams}` : pathname;
  if (uploads) return { target, method: 'PUT', headers, body: someFile };
  const body = [...form.keys()].length > 0 ? form : data;
  return { target, method: body === null ? 'GET' : 'POST', headers, body };
}

/** The words of a command: quotes hold them together, and a backslash continues a line. */
function wordsOf(command: string): string[] {
  const words = command.replaceAll('\\\n', ' ').match(/(?:'[^']*'|[^\s'])+/g) ?? [];
  return words.map((word) => word.replaceAll("'", ''));
}

function cut(text: string, at: string | RegExp): [string, string] {
  const [first = ''] = text.split(at, 1);
  return [first, text.slice(first.length).replace(at, '')];
}

/** What came back. */
export interface Shown {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Where the pages say that the gateway is. */
export const WRITTEN_URL = 'http://localhost:4000';

/** Does what an example says, once, with the gateway at `url`. Web pages have a way of their own. */
export async function runExample(example: PageExample, url: string): Promise<Shown> {
  const { target, ...request } =
    example.kind === 'curl'
      ? readCurl(example.text)
      : {
          target: '/graphql',
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ query: example.text }),
        };
  const response = await fetch(`${url}${target}`, request);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Holds what came back to an answer that a page shows: its JSON, its status and headers, or lines. */
export function expectAsShown(got: Shown, answer: PageExample['answers'][number]): void {
  if (answer.language === 'json') expectJson(got, JSON.parse(answer.text) as object);
  else if (answer.language === 'http') expectHead(got, answer.text);
  else expectLines(got.text, answer.text);
}

function expectJson({ status, text }: Shown, shown: object): void {
  const answer = JSON.parse(text) as object;
  if (!('errors' in shown)) {
    expect(answer).not.toHaveProperty('errors');
    expect(status).toBe('shortUrl' in shown ? 201 : 200);
  }
  expect(answer).toMatchObject(stable(shown));
}

function expectHead(got: Shown, head: string): void {
  const [first = '', ...lines] = head.trim().split('\n');
  expect(got.status).toBe(Number(/^HTTP\/1\.1 (\d+)/.exec(first)?.[1]));
  for (const line of lines) {
    const [name = '', value] = line.split(': ');
    expect(got.headers.get(name), name).toBe(value);
  }
}

/** Line by line; one that is JSON as the JSON that it is. */
function expectLines(got: string, shown: string): void {
  const lines = (text: string, read: (json: object) => object) =>
    text
      .split(/\r?\n/)
      // Its digits change with those of the times in it.
      .filter((line) => line !== '' && !line.startsWith('Content-Length:'))
      .map((line) => (line.startsWith('{') ? read(JSON.parse(line) as object) : line));
  expect(lines(got, (json) => json)).toEqual(lines(shown, stable));
}

/** An answer with everything that differs from run to run replaced by what it is. */
function stable(shown: object): object {
  return JSON.parse(JSON.stringify(shown), (name, value: unknown) => {
    if (['maxAgeMs', 'waitedMs'].includes(name)) return expect.any(Number);
    if (name === 'firstAt') return expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    return name === 'shortUrl'
      ? expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/f\/\w+$/)
      : value;
  }) as object;
}
