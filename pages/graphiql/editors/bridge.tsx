import { pick, useGraphiQL, useGraphiQLActions } from '@graphiql/react';
import { GraphQLError, parse, validate } from 'graphql';
import { useEffect, useRef } from 'react';
import { byId } from '../elements.ts';
import type { Wanted } from '../forecast.ts';
import type { Page } from '../page.ts';
import type { Shell } from '../shell.ts';
import { tellAddress } from '../tabs.ts';
import { type Latest, operationOf } from './fetcher.ts';
import { type Files, uploadPaths } from './files.ts';
import { editorOptions } from './themes.ts';

/** Where GraphiQL has room for what is ours. */
export interface Hosts {
  cost: HTMLElement | null;
  files: HTMLElement | null;
  strip: HTMLElement | null;
}

interface BridgeProps {
  readonly page: Page;
  readonly shell: Shell;
  readonly files: Files;
  readonly hosts: Hosts;
  readonly latest: Latest;
  readonly onReady: () => void;
}

const ADDRESS_PAUSE_MS = 200;

/** Stands within GraphiQL, and keeps the page and the editors in step. It shows nothing itself. */
export function Bridge(props: BridgeProps): null {
  const { files, latest, page } = props;
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
  const isThere = useRef(false);

  const tab = state.tabs[state.activeTabIndex]?.id ?? '';
  const operation = operationOf(state.documentAST, state.operationName);
  useEffect(() => {
    latest.tab = tab;
    latest.paths = uploadPaths(schema, operation);
    files.show(tab, latest.paths);
    if (isThere.current) page.strip.turnTo(tab);
  }, [files, latest, operation, page, schema, tab]);

  useEffect(() => {
    if (!queryEditor || !variableEditor || !headerEditor || !responseEditor) return undefined;
    const editors = [queryEditor, variableEditor, headerEditor, responseEditor];
    for (const editor of editors) editor.updateOptions(editorOptions);
    const frame = requestAnimationFrame(() =>
      // The editors have their size now, and their text after one more.
      requestAnimationFrame(() => {
        if (!isThere.current) takeOver(props, now.current, actions);
        isThere.current = true;
      }),
    );
    return () => cancelAnimationFrame(frame);
    // What they are given over is read when it is done.
  }, [queryEditor, variableEditor, headerEditor, responseEditor]);

  useEffect(() => {
    if (!queryEditor || !variableEditor || !headerEditor) return undefined;
    let timer: ReturnType<typeof setTimeout>;
    const price = (): void => page.forecast.want(() => wanted(props, now.current));
    const edited = (): void => {
      if (!isThere.current) return;
      page.strip.hold();
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
      if (now.current.theme === null) actions.setTheme(null);
    };
    scheme.addEventListener('change', follow);
    return () => scheme.removeEventListener('change', follow);
  }, [actions]);
  return null;
}

type State = Pick<
  Parameters<Parameters<typeof useGraphiQL>[0]>[0],
  | 'activeTabIndex'
  | 'headerEditor'
  | 'operationName'
  | 'queryEditor'
  | 'responseEditor'
  | 'schema'
  | 'tabs'
  | 'variableEditor'
>;

/** Puts into the editors what the text field held, and the editors into its place. */
function takeOver(
  { files, hosts, onReady, page, shell }: BridgeProps,
  { activeTabIndex, queryEditor, responseEditor, tabs, variableEditor }: State,
  actions: ReturnType<typeof useGraphiQLActions>,
): void {
  const { cursor, goesOn, result, tab } = shell;
  if (shell.tabs.activeTabIndex !== activeTabIndex) actions.changeTab(shell.tabs.activeTabIndex);
  if (queryEditor?.getValue() !== (tab.query ?? '')) queryEditor?.setValue(tab.query ?? '');
  if (variableEditor?.getValue() !== (tab.variables ?? '')) {
    variableEditor?.setValue(tab.variables ?? '');
  }
  shell.showResult = (text) => {
    // Somebody may look at another tab by then.
    if (page.strip.tab !== tab.id) return;
    responseEditor?.setValue(text);
    actions.updateActiveTabValues({ response: text });
  };
  if (result) shell.showResult(result);
  hosts.cost?.append(page.forecast.element);
  hosts.files?.append(files.element);
  hosts.strip?.append(page.strip.element);
  byId('shell').remove();
  page.desk = { run: () => actions.run(), renew: () => void actions.introspect() };
  if (goesOn) {
    shell.stop();
    actions.run();
  }
  page.strip.turnTo(tabs[shell.tabs.activeTabIndex]?.id ?? tab.id);
  onReady();
  const model = queryEditor?.getModel();
  if (cursor !== null && model) {
    queryEditor?.setPosition(model.getPositionAt(cursor));
    queryEditor?.focus();
  }
}

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
