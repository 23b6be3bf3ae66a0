// Vite makes such modules, which other bundlers do not find.
// oxlint-disable import/default
import EditorWorker from 'monaco-editor/esm/vs/editor/editor.worker.js?worker';
import JsonWorker from 'monaco-editor/esm/vs/language/json/json.worker.js?worker';
import GraphqlWorker from 'monaco-graphql/esm/graphql.worker.js?worker';

/** Gives the editor the workers of its languages: in threads of their own, from this gateway. */
export function setUpWorkers(): void {
  Object.assign(globalThis, {
    MonacoEnvironment: {
      getWorker(_id: string, label: string): Worker {
        if (label === 'json') return new JsonWorker();
        return label === 'graphql' ? new GraphqlWorker() : new EditorWorker();
      },
    },
  });
}
