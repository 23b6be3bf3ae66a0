// For `node --import`: lets Node 20 load the conformance suite, which imports `globSync` of `fs`. Node has it since
// version 22, and only a command of the suite that no test runs calls it.
import * as fs from 'node:fs';
import { register } from 'node:module';

const moduleOf = (source) => `data:text/javascript,${encodeURIComponent(source)}`;

const completed = moduleOf(`export * from 'node:fs'; export const globSync = () => [];`);
const hook = moduleOf(`
  export const resolve = (specifier, context, next) =>
    specifier === 'fs' && context.parentURL?.includes('/@modelcontextprotocol/conformance/')
      ? { url: ${JSON.stringify(completed)}, shortCircuit: true }
      : next(specifier, context);
`);

if (!('globSync' in fs)) register(hook);
