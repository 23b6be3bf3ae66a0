import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** A page for readers, such as the README. */
export interface Page {
  /** From the root of the project. */
  readonly path: string;
  readonly text: string;
}

/** All pages: those at the root that a reader starts from, and those in `docs/`. */
export const pages: readonly Page[] = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
].map((path) => ({ path, text: readFileSync(path, 'utf8') }));

/**
 * The text of one page.
 * @throws Error when there is none at this path.
 */
export function pageAt(path: string): string {
  const page = pages.find((each) => each.path === path);
  if (!page) throw new Error(`${path} is no page`);
  return page.text;
}

/** Whether a link of a page leads to a file, and to a heading or an anchor in it. */
export function leads(page: Pick<Page, 'path'>, target: string): boolean {
  const [path = '', heading] = target.split('#');
  const file = path === '' ? page.path : normalize(join(dirname(page.path), path));
  if (!existsSync(file)) return false;
  if (heading === undefined) return true;
  const text = readFileSync(file, 'utf8');
  return headings(text).includes(heading) || text.includes(anchorOf(heading));
}

/** What the row of a table has that a link leads to. */
const anchorOf = (name: string): string => `<a id="${name}"></a>`;

/** The headings of a page by the names that links have for them. */
function headings(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => nameOf(title));
}

function nameOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

/**
 * The part of a page below the heading that a link names, with the parts inside it; the line of an anchor. `link` is
 * from the root.
 * @throws Error when it leads nowhere.
 */
export function sectionAt(link: string): string {
  const [path = '', name = ''] = link.split('#');
  const text = readFileSync(path, 'utf8');
  const anchored = text.split('\n').find((line) => line.includes(anchorOf(name)));
  if (anchored !== undefined) return anchored;
  const parts = text.split(/^(?=#+ )/m);
  const levelOf = (part: string): number => /^#*/.exec(part)?.[0].length ?? 0;
  const titleOf = (part: string): string => /^#+ (.+)$/m.exec(part)?.[1] ?? '';
  const from = parts.findIndex((part) => nameOf(titleOf(part)) === name);
  if (from < 0) throw new Error(`${link} leads nowhere`);
  const level = levelOf(parts[from] ?? '');
  const end = parts.findIndex((part, index) => index > from && levelOf(part) <= level);
  return parts.slice(from, end < 0 ? undefined : end).join('');
}

/** A fenced block: `language` and perhaps the name of a file stand behind its fence. */
interface Block {
  readonly language: string;
  readonly file: string | null;
  readonly text: string;
  /** Whether a heading stands between it and the block before. */
  readonly opensSection: boolean;
}

/** A request or command of a page, and what it says will come back. */
export interface PageExample {
  /** Its beginning, for a test's title. */
  readonly title: string;
  readonly kind: 'graphql' | 'curl' | 'page';
  readonly text: string;
  /** The answers shown, one for each time it is asked. */
  readonly answers: readonly Block[];
  /** Files that the page has shown before, by name. */
  readonly files: Readonly<Record<string, string>>;
}

/** All fenced blocks of a Markdown text, in its order. */
export function fencedBlocks(markdown: string): Block[] {
  let end = 0;
  return [...markdown.matchAll(/^```(\w+)(?: ([\w.-]+))?\n(.*?)^```$/gms)].map((match) => {
    const [whole, language = '', file = null, text = ''] = match;
    const opensSection = /^#+ /m.test(markdown.slice(end, match.index));
    end = match.index + whole.length;
    return { language, file, text, opensSection };
  });
}

/** Languages in which an answer is shown: its JSON, its status and headers, or its lines. */
const answerLanguages = ['json', 'http', 'text'];

/**
 * The examples of a page: each GraphQL, curl or HTML block with the answers that follow it.
 * A block that names a file is a file for those after it; an HTML one is an example as well.
 */
export function pageExamples(markdown: string): PageExample[] {
  const examples: (PageExample & { answers: Block[] })[] = [];
  const files: Record<string, string> = {};
  let answers: Block[] = [];
  for (const block of fencedBlocks(markdown)) {
    const { file, language, opensSection, text } = block;
    const kind = kindOf(block);
    if (opensSection) answers = [];
    if (file !== null) files[file] = text;
    if (kind) {
      answers = [];
      const title = text.replace(/\s+/g, ' ').slice(0, 60);
      examples.push({ title, kind, text, answers, files: { ...files } });
    } else if (file === null && answerLanguages.includes(language)) {
      answers.push(block);
    } else {
      // What comes after another block is not an answer to what came before it.
      answers = [];
    }
  }
  return examples;
}

function kindOf({ file, language, text }: Block): PageExample['kind'] | null {
  if (language === 'html') return 'page';
  if (file !== null) return null;
  if (language === 'graphql') return 'graphql';
  // A command that comes after others is a step of what they set up.
  return language === 'sh' && text.startsWith('curl ') ? 'curl' : null;
}
