/** Something the README tells its reader to ask, and what it says will come back. */
export interface ReadmeExample {
  /** Its beginning, for a test's title. */
  readonly title: string;
  readonly question:
    | { readonly kind: 'graphql'; readonly query: string }
    | { readonly kind: 'curl'; readonly request: CurlRequest };
  /** The answers shown, one for each time it is asked. */
  readonly answers: readonly unknown[];
}

interface CurlRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

interface Block {
  readonly language: string;
  readonly text: string;
}

/** All fenced blocks of a Markdown text, in its order. */
export function fencedBlocks(markdown: string): Block[] {
  return [...markdown.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', text = '']) => ({
    language,
    text,
  }));
}

/** The examples of a README: each GraphQL or curl block with the JSON blocks that follow it. */
export function readmeExamples(markdown: string): ReadmeExample[] {
  const examples: (ReadmeExample & { answers: unknown[] })[] = [];
  for (const { language, text } of fencedBlocks(markdown)) {
    const title = text.replace(/\s+/g, ' ').slice(0, 60);
    if (language === 'json') examples.at(-1)?.answers.push(JSON.parse(text));
    if (language === 'graphql') {
      examples.push({ title, question: { kind: 'graphql', query: text }, answers: [] });
    }
    if (language === 'sh' && /^curl /m.test(text)) {
      examples.push({ title, question: { kind: 'curl', request: readCurl(text) }, answers: [] });
    }
  }
  return examples;
}

/** Reads a curl command as a shell would, as far as the README goes: quotes, and lines continued. */
function readCurl(command: string): CurlRequest {
  const words = [...command.replaceAll('\\\n', ' ').matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, bare]) => quoted ?? bare ?? '',
  );
  const headers: Record<string, string> = {};
  let url = '';
  let body: string | undefined;
  for (let index = 1; index < words.length; index += 1) {
    const word = words[index] ?? '';
    if (word === '-s') continue;
    if (word === '-H') {
      const [name = '', value = ''] = (words[(index += 1)] ?? '').split(/:\s*/);
      headers[name] = value;
    } else if (word === '-d') body = words[(index += 1)];
    else if (word.startsWith('-') || url !== '') throw new Error(`curl with ${word}`);
    else url = word;
  }
  return { url, headers, body };
}
