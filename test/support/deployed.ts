/** `name: value` pairs in a part of a compose file, with what `${NAME:-…}` stands for put in. */
export function composeVariables(part: string): Record<string, string> {
  return Object.fromEntries(
    [...part.matchAll(/^ {6}([A-Z_]+): "?(.*?)"?$/gm)].map(([, name, value = '']) => [
      name,
      value
        .replace(/\$\{\w+:\?[^}]*\}/, 'https://links.example.com')
        .replace(/\$\{\w+:-([^}]*)\}/, '$1'),
    ]),
  );
}

/** The variables that a Kubernetes manifest sets. */
export function manifestVariables(manifest: string): Record<string, string> {
  const pairs = manifest.matchAll(/\{ name: ([A-Z_]+), value: "?([^" }]+)"? \}/g);
  return Object.fromEntries([...pairs].map(([, name, value]) => [name, value]));
}
