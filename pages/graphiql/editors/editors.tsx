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
import { askedInAddress, firstTabs, storage } from '../tabs.ts';
import { Bridge } from './bridge.tsx';
import { createFetcher } from './fetcher.ts';
import { Files } from './files.ts';
import { defineThemes, themes } from './themes.ts';
import { setUpWorkers } from './workers.ts';

/** Puts GraphiQL into an element of the page. Settles when its editors are there. */
export async function mountEditors(page: Page, stage: HTMLElement): Promise<void> {
  setUpWorkers();
  await defineThemes();
  returnFocus(stage);
  await new Promise<void>((resolve) => {
    createRoot(stage).render(<Editors page={page} onReady={resolve} />);
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

function Editors({ onReady, page }: { page: Page; onReady: () => void }): ReactNode {
  const asked = askedInAddress();
  const files = new Files(() => void page.forecast.renew());
  const latest = { tab: '', paths: [] as readonly string[] };
  const hosts = (element: HTMLElement) => (host: HTMLElement | null) => host?.append(element);
  const [costHost, filesHost, stripHost] = [page.forecast, files, page.strip].map(({ element }) =>
    hosts(element),
  );
  return (
    <GraphiQL
      fetcher={createFetcher(page, files, latest)}
      storage={storage}
      defaultTabs={firstTabs()}
      {...(asked && { initialQuery: asked.query, initialVariables: asked.variables ?? '' })}
      schemaDescription={true}
      shouldPersistHeaders={false}
      defaultEditorToolsVisibility={!isNarrow}
      editorTheme={themes}
    >
      <GraphiQL.Logo>{null}</GraphiQL.Logo>
      <GraphiQL.Toolbar>
        {({ copy, merge, prettify }) => (
          <>
            <div className="cost-host" ref={costHost} />
            {prettify}
            {merge}
            {copy}
            <div className="files-host" ref={filesHost} />
          </>
        )}
      </GraphiQL.Toolbar>
      <GraphiQL.Footer>
        <div ref={stripHost} />
      </GraphiQL.Footer>
      <Bridge page={page} files={files} latest={latest} onReady={onReady} />
    </GraphiQL>
  );
}
