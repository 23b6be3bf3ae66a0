import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { rolldown } from 'rolldown';
import { type Running, start } from '../../support/process.ts';
import { fencedBlocks, pageAt } from '../../support/readme.ts';

/** The blocks of a page that have a name, by it. */
export function blocksOf(path: string): ReadonlyMap<string, string> {
  return new Map(
    fencedBlocks(pageAt(path)).flatMap(({ file, text }) => (file === null ? [] : [[file, text]])),
  );
}

/** The packages that the pages instruct to install. */
export const PACKAGES = resolve('test/docs/node_modules');

/** The start of a page as Vite's template for React makes it, less its looks, with the plugins of docs/frontend.md. */
const TEMPLATE = {
  'package.json': '{ "type": "module" }',
  'tsconfig.json': '{ "files": [], "references": [{ "path": "./tsconfig.app.json" }] }',
  'tsconfig.app.json': `{
  "compilerOptions": {
${blocksOf('docs/frontend.md').get('plugins')}
    "tsBuildInfoFile": "./node_modules/.tmp/tsconfig.app.tsbuildinfo",
    "target": "es2023",
    "lib": ["ES2023", "DOM"],
    "module": "esnext",
    "types": ["vite/client"],
    "allowArbitraryExtensions": true,
    "skipLibCheck": true,

    /* Bundler mode */
    "moduleResolution": "bundler",
    "allowImportingTsExtensions": true,
    "verbatimModuleSyntax": true,
    "moduleDetection": "force",
    "noEmit": true,
    "jsx": "react-jsx",

    /* Linting */
    "noUnusedLocals": true,
    "noUnusedParameters": true,
    "erasableSyntaxOnly": true,
    "noFallthroughCasesInSwitch": true
  },
  "include": ["src"]
}`,
  'src/main.tsx': `import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import App from './App.tsx'

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
`,
};

import { tempFolder } from '../../support/folder.ts';

/** A reader's project: a folder of its own, with the libraries that the pages instruct to install. */
export interface Project {
  readonly folder: string;
  readonly write: (path: string, text: string) => void;
  /** Runs a program of `node_modules`, as `npx` does, and resolves with its status and its output. */
  readonly run: (path: string, ...args: string[]) => Promise<{ status: unknown; output: string }>;
  /** TypeScript 6 over what `tsconfig.app.json` names. */
  readonly check: () => Promise<{ status: unknown; output: string }>;
  /** One HTML page with `src/main.tsx` and all it imports. */
  readonly bundle: () => Promise<string>;
}

/** Makes one in a temporary folder. Its creator removes it. */
export function makeProject(): Project {
  const folder = tempFolder();
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  for (const name of readdirSync(PACKAGES)) symlinkSync(join(PACKAGES, name), join(modules, name));
  // What bundles the page bundles the gateway's own too.
  symlinkSync(resolve('node_modules/vite'), join(modules, 'vite'));
  const write = (path: string, text: string): void => {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  for (const [path, text] of Object.entries(TEMPLATE)) write(path, text);
  const outcome = async (program: Running) => ({
    status: await program.ended,
    output: program.output(),
  });
  const node = (path: string, ...args: string[]) =>
    outcome(start(process.execPath, [path, ...args], { cwd: folder, env: { CI: 'true' } }));
  return {
    folder,
    write,
    run: (path, ...args) => node(join('node_modules', path), ...args),
    check: () => node('node_modules/typescript/bin/tsc', '-p', 'tsconfig.app.json'),
    async bundle() {
      const built = await rolldown({
        input: join(folder, 'src/main.tsx'),
        platform: 'browser',
        transform: { define: { 'process.env.NODE_ENV': '"development"' } },
        logLevel: 'silent',
      });
      const { output } = await built.generate({ codeSplitting: false });
      await built.close();
      const script = output[0].code.replaceAll('</script', '<\\/script');
      return `<!doctype html><meta charset="utf-8"><div id="root"></div><script type="module">${script}</script>`;
    },
  };
}
