/** As the text field's, so that nothing moves when an editor takes its place. */
export const editorOptions = {
  fontFamily: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
  fontSize: 13,
  lineHeight: 20,
  lineNumbersMinChars: 3,
  lineDecorationsWidth: 12,
  glyphMargin: false,
  padding: { top: 8, bottom: 8 },
  guides: { indentation: false },
} as const;

/** The names of the editors' colours, by the scheme of the page. */
export const themes = { light: 'gateway-light', dark: 'gateway-dark' };

/** Loads the editor and gives it the colours of the page. Called before anything uses it. */
export async function defineThemes(): Promise<void> {
  const { editor } = await import('monaco-graphql/esm/monaco-editor.js');
  editor.defineTheme(themes.light, {
    base: 'vs',
    inherit: true,
    rules: rules('5a6475', '8a2c8f', '1c4fb8', '0f6b4a', '9a4a00'),
    colors: colors('#1b2330', '#566072', '#2459c9'),
  });
  editor.defineTheme(themes.dark, {
    base: 'vs-dark',
    inherit: true,
    rules: rules('93a0b4', 'd7a1e8', '8cb4ff', '7fd1a8', 'e8b07a'),
    colors: colors('#e4e8ef', '#9aa5b6', '#8cb4ff'),
  });
}

function rules(comment: string, keyword: string, name: string, text: string, number: string) {
  return [
    { token: 'comment', foreground: comment },
    { token: 'keyword', foreground: keyword },
    { token: 'type', foreground: name },
    { token: 'type.identifier', foreground: name },
    { token: 'key.identifier', foreground: name },
    { token: 'argument.identifier', foreground: number },
    { token: 'string.key.json', foreground: name },
    { token: 'string.value.json', foreground: text },
    { token: 'string', foreground: text },
    { token: 'number', foreground: number },
    { token: 'keyword.json', foreground: keyword },
  ];
}

function colors(ink: string, quiet: string, accent: string): Record<string, string> {
  return {
    'editor.background': '#00000000',
    'editor.foreground': ink,
    'editorLineNumber.foreground': quiet,
    'editorLineNumber.activeForeground': ink,
    'editorCursor.foreground': accent,
    focusBorder: accent,
  };
}
