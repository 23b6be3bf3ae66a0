import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Provider } from 'urql';
import { App } from './app.tsx';
import { createClient } from './graph/client.ts';
import { loadSettings } from './graph/settings.ts';
import { createWrites } from './graph/writes.ts';
import { Failure } from './parts/panel.tsx';
import './styles/tokens.css';
import './styles/base.css';
import './styles/layout.css';
import './styles/lists.css';
import './styles/states.css';
import './styles/panels.css';

const root = createRoot(document.getElementById('root') as HTMLElement);
try {
  const settings = await loadSettings();
  const client = createClient(settings);
  const writes = createWrites(client, settings);
  root.render(
    <StrictMode>
      <Provider value={client}>
        <App settings={settings} writes={writes} />
      </Provider>
    </StrictMode>,
  );
} catch {
  const message = 'The settings of this page could not be loaded.';
  root.render(<Failure errors={[{ message }]} again={() => location.reload()} />);
}
