/** What a curl command sends, as `fetch` takes it. */
export interface CurlRequest {
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
export function readCurl(command: string): CurlRequest {
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
