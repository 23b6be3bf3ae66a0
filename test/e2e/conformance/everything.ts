import {
  type ContentBlock,
  fromJsonSchema,
  type McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import { type McpHandler, serveMcp } from '../../../src/agents/mcp-handler.ts';
import { embedded, image, PNG, text } from './contents.ts';
import { registerQuestions, requestState } from './questions.ts';
import { registerTools } from './tools.ts';

/** Serves all features of the protocol that the suite tests, as `serveMcp` serves the tools of agents. */
export function serveEverything(): McpHandler {
  const register = (server: McpServer): void => {
    registerTools(server);
    registerQuestions(server);
    registerPrompts(server);
    registerResources(server);
    registerCompletion(server);
  };
  const listChanged = false;
  return serveMcp(register, {
    capabilities: {
      tools: { listChanged },
      prompts: { listChanged },
      resources: { listChanged },
      completions: {},
      logging: {},
    },
    requestState,
  });
}

function registerPrompts(server: McpServer): void {
  const says = (...contents: readonly ContentBlock[]) => ({
    messages: contents.map((content) => ({ role: 'user' as const, content })),
  });
  const required = <Name extends string>(...names: readonly Name[]) =>
    fromJsonSchema<Record<Name, string>>({
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
      required: [...names],
    });
  server.registerPrompt('test_simple_prompt', { description: 'Has no arguments.' }, () =>
    says(text('This is a simple prompt for testing.')),
  );
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'Has two arguments.', argsSchema: required('arg1', 'arg2') },
    ({ arg1, arg2 }) => says(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'Has a resource.', argsSchema: required('resourceUri') },
    ({ resourceUri }) =>
      says(
        embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.'),
        text('Please process the embedded resource above.'),
      ),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'Has an image.' }, () =>
    says(image, text('Please analyze the image above.')),
  );
}

function registerResources(server: McpServer): void {
  const description = 'For tests.';
  server.registerResource('text', 'test://static-text', { description }, ({ href: uri }) => ({
    contents: [
      { uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
    ],
  }));
  server.registerResource('binary', 'test://static-binary', { description }, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'image/png', blob: PNG }],
  }));
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
  server.registerResource('template', template, { description }, ({ href: uri }, { id }) => {
    const value = { id, templateTest: true, data: `Data for ID: ${String(id)}` };
    return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(value) }] };
  });
  // In the protocol with sessions only. Nothing changes, so that there is nobody to notify.
  server.server.setRequestHandler('resources/subscribe', () => ({}));
  server.server.setRequestHandler('resources/unsubscribe', () => ({}));
}

/** Completes each argument of a prompt by the same words. */
function registerCompletion(server: McpServer): void {
  server.server.setRequestHandler('completion/complete', ({ params: { argument } }) => {
    const values = ['paris', 'park', 'party'].filter((word) => word.startsWith(argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
  });
}
