/** One line of a Dockerfile, continuations joined. */
interface Instruction {
  readonly keyword: string;
  readonly rest: string;
}

/** One `FROM` and what follows it. */
export interface Stage {
  readonly image: string;
  readonly name: string | undefined;
  readonly instructions: readonly Instruction[];
}

/** Reads as much of the Dockerfile language as ours uses. */
export function parseDockerfile(text: string): Stage[] {
  const stages: { image: string; name: string | undefined; instructions: Instruction[] }[] = [];
  for (const line of text.replaceAll('\\\n', ' ').split('\n')) {
    const match = /^\s*([A-Z]+)\s+(.+)$/.exec(line);
    if (!match) {
      continue;
    }
    const [, keyword = '', rest = ''] = match;
    if (keyword === 'FROM') {
      const [image = '', , name] = rest.split(/\s+/);
      stages.push({ image, name, instructions: [] });
    } else {
      stages.at(-1)?.instructions.push({ keyword, rest });
    }
  }
  return stages;
}

/** The command of a `CMD` or `HEALTHCHECK … CMD` in its exec form. */
export function commandOf(rest: string): string[] {
  return JSON.parse(rest.slice(rest.indexOf('['))) as string[];
}

/** The variables of an `ENV A=1 B=2` line. */
export function variablesOf(rest: string): Record<string, string> {
  return Object.fromEntries(
    [...rest.matchAll(/(\w+)=(\S*)/g)].map(([, name, value]) => [name, value]),
  );
}
