/** A server-sent event. */
export type ParsedEvent = readonly [type: string, text: string];

/** Parses a stream of server-sent events from chunks of any size. */
export function parser(onRetry: (ms: number) => void): (chunk: Uint8Array) => ParsedEvent[] {
  const decoder = new TextDecoder();
  let rest = '';
  let endsInCr = false;
  let type = '';
  let lines: string[] = [];
  return (chunk) => {
    const events: ParsedEvent[] = [];
    const text = decoder.decode(chunk, { stream: true });
    if (!text) return events;
    const whole = (rest + (endsInCr ? text.replace(/^\n/, '') : text)).split(/\r\n?|\n/);
    endsInCr = text.endsWith('\r');
    rest = whole.pop() as string;
    for (const line of whole) {
      const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) as RegExpExecArray;
      if (!line) {
        // GraphQL libraries may send the final event without data.
        if (type || lines.length) events.push([type, lines.join('\n')]);
        type = '';
        lines = [];
      } else if (field === 'data') lines.push(value);
      else if (field === 'event') type = value;
      else if (field === 'retry' && /^\d+$/.test(value)) onRetry(+value);
    }
    return events;
  };
}
