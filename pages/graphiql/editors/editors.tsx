import '@graphiql/react/style.css';
import 'graphiql/graphiql.css';
import '@graphiql/plugin-doc-explorer/style.css';
import '@graphiql/plugin-history/style.css';
import './colours.css';
import './editors.css';
import { GraphiQL } from 'graphiql';
import type { ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import type { Page } from '../page.ts';
import type { Shell } from '../shell.ts';
import { leaveTabs, storage } from '../tabs.ts';
import { Bridge, type Hosts } from './bridge.tsx';
import { createFetcher } from './fetcher.ts';
import { Files } from './files.ts';
import { defineThemes, themes } from './themes.ts';
import { setUpWorkers } from './workers.ts';

/**
 * Puts GraphiQL in the place of the plain text field. Settles when it is there, with whatever was typed, run and
 * answered until then.
 */
export async function mountEditors(page: Page, shell: Shell, stage: HTMLElement): Promise<void> {
  setUpWorkers();
  await defineThemes();
  leaveTabs(shell.tabs);
  const host = document.createElement('div');
  host.className = 'editors';
  stage.append(host);
  returnFocus(host);
  await new Promise<void>((resolve) => {
    const onReady = (): void => {
      host.classList.add('there');
      resolve();
    };
    createRoot(host).render(<Editors page={page} shell={shell} onReady={onReady} />);
  });
}

/** A dialog of GraphiQL leaves the focus nowhere when it closes: it goes back to the button that opened it. */
function returnFocus(host: HTMLElement): void {
  let opener: HTMLElement | null = null;
  host.addEventListener('click', ({ target }) => {
    opener = (target as Element).closest<HTMLElement>('.graphiql-sidebar > button');
  });
  // Dialogs are put beside the stage.
  new MutationObserver(() => {
    const isLost = document.activeElement === document.body;
    if (isLost && !document.querySelector('.graphiql-dialog')) opener?.focus();
  }).observe(document.body, { childList: true });
}

const isNarrow = matchMedia('(max-width: 720px)').matches;

function Editors(props: { page: Page; shell: Shell; onReady: () => void }): ReactNode {
  const { onReady, page, shell } = props;
  const { query, variables } = shell.tab;
  const hosts: Hosts = { cost: null, files: null, strip: null };
  const files = new Files(() => void page.forecast.renew());
  const latest = { tab: shell.tab.id, paths: [] as readonly string[] };
  return (
    <GraphiQL
      fetcher={createFetcher(page, files, latest)}
      storage={storage}
      initialQuery={query ?? ''}
      initialVariables={variables ?? ''}
      schemaDescription={true}
      shouldPersistHeaders={false}
      defaultEditorToolsVisibility={!isNarrow}
      editorTheme={themes}
    >
      <GraphiQL.Logo>{null}</GraphiQL.Logo>
      <GraphiQL.Toolbar>
        {({ copy, merge, prettify }) => (
          <>
            <div
              className="cost-host"
              ref={(element) => {
                hosts.cost = element;
              }}
            />
            {prettify}
            {merge}
            {copy}
            <div
              className="files-host"
              ref={(element) => {
                hosts.files = element;
              }}
            />
          </>
        )}
      </GraphiQL.Toolbar>
      <GraphiQL.Footer>
        <div
          ref={(element) => {
            hosts.strip = element;
          }}
        />
      </GraphiQL.Footer>
      <Bridge
        page={page}
        shell={shell}
        files={files}
        hosts={hosts}
        latest={latest}
        onReady={onReady}
      />
    </GraphiQL>
  );
}
