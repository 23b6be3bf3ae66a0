import { pick, useGraphiQL, useGraphiQLActions } from '@graphiql/react';
import { GraphQLError, parse, validate } from 'graphql';
import { useEffect, useRef } from 'react';
import type { Wanted } from '../forecast.ts';
import type { Page } from '../page.ts';
import { tellAddress } from '../tabs.ts';
import { type Latest, operationOf } from './fetcher.ts';
import { type Files, uploadPaths } from './files.ts';
import { editorOptions } from './themes.ts';

interface BridgeProps {
  readonly page: Page;
  readonly files: Files;
  readonly latest: Latest;
  readonly onReady: () => void;
}

const ADDRESS_PAUSE_MS = 200;

/** Stands within GraphiQL, and keeps the page and the editors in step. It shows nothing itself. */
export function Bridge(props: BridgeProps): null {
  const { files, latest, onReady, page } = props;
  const actions = useGraphiQLActions();
  const state = useGraphiQL(
    pick(
      'activeTabIndex',
      'documentAST',
      'headerEditor',
      'operationName',
      'queryEditor',
      'responseEditor',
      'schema',
      'tabs',
      'theme',
      'variableEditor',
    ),
  );
  const { headerEditor, queryEditor, responseEditor, schema, variableEditor } = state;
  const now = useRef(state);
  now.current = state;

  useEffect(() => {
    page.loadSchema = () => void actions.introspect();
  }, [actions, page]);

  const tab = state.tabs[state.activeTabIndex]?.id ?? '';
  const operation = operationOf(state.documentAST, state.operationName);
  useEffect(() => {
    latest.tab = tab;
    latest.paths = uploadPaths(schema, operation);
    files.show(tab, latest.paths);
    page.strip.turnTo(tab);
  }, [files, latest, operation, page, schema, tab]);

  useEffect(() => {
    if (!queryEditor || !variableEditor || !headerEditor || !responseEditor) return undefined;
    const editors = [queryEditor, variableEditor, headerEditor, responseEditor];
    for (const editor of editors) editor.updateOptions(editorOptions);
    const frame = requestAnimationFrame(onReady);
    return () => cancelAnimationFrame(frame);
  }, [onReady, queryEditor, variableEditor, headerEditor, responseEditor]);

  useEffect(() => {
    if (!queryEditor || !variableEditor || !headerEditor) return undefined;
    let timer: ReturnType<typeof setTimeout>;
    const price = (): void => page.forecast.want(() => wanted(props, now.current));
    const edited = (): void => {
      price();
      clearTimeout(timer);
      timer = setTimeout(
        () => tellAddress(queryEditor.getValue(), variableEditor.getValue()),
        ADDRESS_PAUSE_MS,
      );
    };
    const watched = [queryEditor, variableEditor, headerEditor].map((editor) =>
      editor.onDidChangeModelContent(edited),
    );
    // Also what is there already: with the schema, more can be said about it.
    price();
    return () => {
      clearTimeout(timer);
      for (const each of watched) each.dispose();
    };
  }, [queryEditor, variableEditor, headerEditor, schema]);

  useEffect(() => {
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const follow = (): void => {
      const { theme } = now.current;
      if (theme === null) actions.setTheme(null);
      const isDark = theme === null ? scheme.matches : theme === 'dark';
      document.documentElement.classList.toggle('dark', isDark);
    };
    follow();
    scheme.addEventListener('change', follow);
    return () => scheme.removeEventListener('change', follow);
  }, [actions, state.theme]);
  return null;
}

type State = Pick<
  Parameters<Parameters<typeof useGraphiQL>[0]>[0],
  'headerEditor' | 'operationName' | 'queryEditor' | 'schema' | 'variableEditor'
>;

/** What a price is to be asked for, what is wrong with the text, or `null` where something is missing. */
function wanted(
  { files, latest, page }: BridgeProps,
  { headerEditor, operationName, queryEditor, schema, variableEditor }: State,
): ReturnType<Wanted> {
  const query = queryEditor?.getValue() ?? '';
  if (query.trim() === '') return null;
  try {
    const document = parse(query);
    const faults = schema ? validate(schema, document) : [];
    if (faults.length > 0) return problemOf(faults);
    if (!operationOf(document, operationName)) return null;
    const chosen = files.chosen(latest.tab, latest.paths);
    // The price does not depend on what is in a file, and it need not be sent for that.
    for (const [path, { name, type }] of chosen) chosen.set(path, new File(['-'], name, { type }));
    if (chosen.size < latest.paths.length) return null;
    return {
      asked: { query, operationName, variables: jsonIn(variableEditor?.getValue()) },
      headers: { ...page.token.headers, ...(jsonIn(headerEditor?.getValue()) as object) },
      files: chosen,
    };
  } catch (error) {
    return error instanceof GraphQLError ? problemOf([error]) : null;
  }
}

/** "1 error, line 3": how many there are, and where the first is. */
function problemOf(errors: readonly GraphQLError[]): string {
  const lines = errors.flatMap(({ locations }) => locations?.map(({ line }) => line) ?? []);
  const count = errors.length === 1 ? '1 error' : `${errors.length} errors`;
  return lines.length > 0 ? `${count}, line ${Math.min(...lines)}` : count;
}

/** @throws SyntaxError where it is something else. */
function jsonIn(text = ''): Record<string, unknown> | undefined {
  return text.trim() ? (JSON.parse(text) as Record<string, unknown>) : undefined;
}
