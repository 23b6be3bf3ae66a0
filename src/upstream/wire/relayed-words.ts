/** Replaces an address. */
const ADDRESS = '[address]';
/** Replaces a secret. */
export const HIDDEN = '[hidden]';

/** Opaque words of this length are considered keys or tokens: hardly any language has such words. */
const SHORTEST_SECRET = 16;

/** The context of a message. */
interface Occasion {
  /** The URL of the upstream, which callers must not see. */
  readonly baseUrl: string;
  /** The text that the caller has sent, whose words may be repeated. Evaluated only if needed. */
  readonly sent: () => string;
}

/**
 * An upstream's message for callers: without addresses of its machines and pages, file paths, and words that look
 * like a key or a token. Words that the caller has sent are kept, as in "the slug … is taken". Takes one line of a
 * few hundred characters, as `plainText` makes it.
 */
export function relayable(sentence: string, occasion: Occasion): string {
  const { host, hostname } = new URL(occasion.baseUrl);
  // A name without a dot, as within a cluster, can be an ordinary word.
  const names = [host, ...(hostname.includes('.') ? [hostname] : [])].filter(
    (name) => name.includes('.') || name.includes(':'),
  );
  const namesUpstream = (word: string): boolean =>
    names.some((name) => word.toLowerCase().includes(name));
  let sent: string | undefined;
  const isOwn = (word: string): boolean => {
    sent ??= occasion.sent();
    return sent.includes(word);
  };
  let afterScheme = false;
  return sentence
    .split(' ')
    .map((each) => {
      const [, before = '', word = '', after = ''] = punctuated.exec(each) ?? ['', '', each];
      const plain = word.replaceAll('\\/', '/');
      const isCredential = afterScheme && word.length >= SHORTEST_SECRET / 2;
      afterScheme = /^(?:bearer|basic|token)$/i.test(word);
      if (namesUpstream(plain)) return `${before}${ADDRESS}${after}`;
      const shown = isCredential ? HIDDEN : withoutSecrets(plain);
      return shown === plain || isOwn(word) ? each : `${before}${shown}${after}`;
    })
    .join(' ');
}

/** A word with surrounding punctuation. */
const punctuated = /^(["'([{<«„“]*)(.*?)([.,;:!?"')\]}>»“”]*)$/u;

/** A word without an address or a secret; the word itself if there is none. */
function withoutSecrets(word: string): string {
  if (/:\/\//.test(word)) return word.replace(/[a-z][a-z\d+.-]*:\/\/\S+/giu, ADDRESS);
  if (addresses.some((form) => form.test(word))) return ADDRESS;
  const named = /^(["']?[\w-]*(?:key|token|secret|password|signature)["']?[=:])./i.exec(word);
  if (named) return `${named[1]}${HIDDEN}`;
  const opaque =
    word.length >= SHORTEST_SECRET &&
    /^[\w+/=.~-]+$/.test(word) &&
    /\d/.test(word) &&
    /[a-z]/i.test(word);
  return opaque ? HIDDEN : word;
}

const addresses = [
  // Without a scheme.
  /^(?:\/\/|www\.)\S/i,
  // IPv4 and IPv6.
  /(?:^|[^\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])/,
  /^\[?[\da-f]{0,4}(?::[\da-f]{0,4}){3,7}\]?/i,
  // A machine and its port, a name within a network, a path on a disk or a server.
  /^[a-z][\w.-]*:\d{2,5}(?:\/|$)/i,
  /^(?:[a-z\d-]+\.){2,}[a-z]{2,}(?:\/|$)/i,
  /^(?:\/[\w.@~-]+){2}|^[a-z]:\\/i,
];
