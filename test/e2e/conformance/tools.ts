import { setTimeout as pause } from 'node:timers/promises';
import {
  type CallToolResult,
  fromJsonSchema,
  type JsonSchemaType,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { audio, embedded, image, text } from './contents.ts';
// Has keywords of JSON Schema 2020-12 that a server could lose.
import keywords from './keywords.json' with { type: 'json' };

/** Between two messages of a running call, in milliseconds: each arrives by itself. */
const PAUSE_MS = 50;

/** Tools that always return the same. */
const CONSTANTS: Readonly<Record<string, CallToolResult['content']>> = {
  test_simple_text: [text('This is a simple text response for testing.')],
  test_image_content: [image],
  test_audio_content: [audio],
  test_embedded_resource: [
    embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
  ],
  test_multiple_content_types: [
    text('Multiple content types test:'),
    image,
    embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
  ],
};

/** An argument that is also in a header of the request, which must agree. */
const IN_HEADER = { type: 'string', 'x-mcp-header': 'Region' } as JsonSchemaType;

/** Tools with arguments, which they only receive. */
const SCHEMAS: Readonly<Record<string, JsonSchemaType>> = {
  json_schema_2020_12_tool: keywords,
  test_header: { type: 'object', properties: { region: IN_HEADER } },
};

/** Registers the tools that ask nothing. */
export function registerTools(server: McpServer): void {
  for (const [name, content] of Object.entries(CONSTANTS)) {
    server.registerTool(name, { description: 'Always the same.' }, () => ({ content }));
  }
  for (const [name, schema] of Object.entries(SCHEMAS)) {
    const inputSchema = fromJsonSchema(schema);
    server.registerTool(name, { description: 'Has arguments.', inputSchema }, () => ({
      content: [text('received')],
    }));
  }
  server.registerTool('test_error_handling', { description: 'Always fails.' }, () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  for (const name of ['test_tool_with_logging', 'test_logging_tool']) {
    server.registerTool(name, { description: 'Logs what it does.' }, logging);
  }
  server.registerTool('test_tool_with_progress', { description: 'Takes a while.' }, progressing);
}

async function logging({ mcpReq }: ServerContext): Promise<CallToolResult> {
  for (const step of ['Tool execution started', 'Tool processing data']) {
    await mcpReq.log('info', step);
    await pause(PAUSE_MS);
  }
  await mcpReq.log('info', 'Tool execution completed');
  return { content: [text('done')] };
}

async function progressing({ mcpReq }: ServerContext): Promise<CallToolResult> {
  const { progressToken } = mcpReq['_meta'] ?? {};
  for (const progress of [0, 50, 100]) {
    if (progressToken !== undefined) {
      const params = { progressToken, progress, total: 100 };
      await mcpReq.notify({ method: 'notifications/progress', params });
    }
    await pause(PAUSE_MS);
  }
  return { content: [text('done')] };
}
