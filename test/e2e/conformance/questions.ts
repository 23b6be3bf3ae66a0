import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createRequestStateCodec,
  type ElicitRequestFormParams,
  type InputRequest,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type McpServer,
  type McpServerOptions,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { text } from './contents.ts';

/** What a request says about its client. */
interface Envelope {
  readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities;
}

type Fields = ElicitRequestFormParams['requestedSchema']['properties'];

/** A question to the person at the client. */
const form = (message: string, properties: Fields): InputRequest =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties, required: Object.keys(properties) },
  });

/** A question to the model of the client. */
const sampling = (prompt: string): InputRequest =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
    maxTokens: 100,
  });

const options = ['option1', 'option2', 'option3'];
const titled = [
  { const: 'value1', title: 'First Option' },
  { const: 'value2', title: 'Second Option' },
];

const defaults = form('Check these values', {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
});
const choices = form('Choose', {
  untitledSingle: { type: 'string', enum: options },
  titledSingle: { type: 'string', oneOf: titled },
  legacyEnum: { type: 'string', enum: options, enumNames: ['One', 'Two', 'Three'] },
  untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
  titledMulti: { type: 'array', items: { anyOf: titled } },
});
const name = form('What is your name?', { name: { type: 'string' } });
const confirm = form('Please confirm', { ok: { type: 'boolean' } });
const color = form('What is your favorite color?', { color: { type: 'string' } });
const user = form('Who are you?', { username: { type: 'string' }, email: { type: 'string' } });
const capital = sampling('What is the capital of France?');
const client_roots = inputRequired.listRoots();

/** What each tool asks, in one round or several. */
const TOOLS: Readonly<Record<string, readonly InputRequests[]>> = {
  test_sampling: [{ capital }],
  test_elicitation: [{ user }],
  test_elicitation_sep1034_defaults: [{ defaults }],
  test_elicitation_sep1330_enums: [{ choices }],
  test_missing_capability: [{ capital }],
  test_streaming_elicitation: [{ confirm }],
  test_input_required_result_elicitation: [{ user_name: name }],
  test_input_required_result_sampling: [{ capital_question: capital }],
  test_input_required_result_list_roots: [{ client_roots }],
  test_input_required_result_request_state: [{ confirm }],
  test_input_required_result_tampered_state: [{ confirm }],
  test_input_required_result_multi_round: [{ step1: name }, { step2: color }],
  test_input_required_result_multiple_inputs: [
    { user_name: name, greeting: sampling('Generate a greeting'), client_roots },
  ],
};

/** Signs the number of the round that a client sends back. */
const rounds = createRequestStateCodec<number>({ key: 'a key for tests, of at least 32 bytes' });

/** Refuses a number that was not signed. */
export const requestState: NonNullable<McpServerOptions['requestState']> = {
  verify: (state, context) => rounds.verify(state, context),
};

/** Registers the tools and the prompt that ask. */
export function registerQuestions(server: McpServer): void {
  const description = 'Asks its client.';
  const answered = { content: [text('answered')] };
  for (const [name, requests] of Object.entries(TOOLS)) {
    server.registerTool(
      name,
      { description },
      async (context) => (await questionIn(requests, context)) ?? answered,
    );
  }
  server.registerTool(
    'test_input_required_result_capabilities',
    { description },
    async (context) =>
      (await questionIn([answerable({ name, capital }, context)], context)) ?? answered,
  );
  server.registerPrompt(
    'test_input_required_result_prompt',
    { description },
    async (context) =>
      (await questionIn([{ user_context: name }], context)) ?? {
        messages: [{ role: 'user', content: text('answered') }],
      },
  );
}

/** What is to be asked in this round; `null` after the last one. */
async function questionIn(
  requests: readonly InputRequests[],
  { mcpReq }: ServerContext,
): Promise<InputRequiredResult | null> {
  const round = mcpReq.requestState<number>() ?? 0;
  const isAnswered = Object.keys(requests[round] ?? {}).every(
    (key) => inputResponse(mcpReq.inputResponses, key).kind !== 'missing',
  );
  const next = isAnswered ? round + 1 : round;
  const inputRequests = requests[next];
  return inputRequests
    ? inputRequired({ inputRequests, requestState: await rounds.mint(next) })
    : null;
}

/** The questions that the client of a request can answer. */
function answerable(requests: InputRequests, { mcpReq }: ServerContext): InputRequests {
  const envelope: Envelope | undefined = mcpReq.envelope;
  const capabilities = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? {};
  const isKnown = ({ method }: InputRequest): boolean =>
    method === 'elicitation/create' ? 'elicitation' in capabilities : 'sampling' in capabilities;
  return Object.fromEntries(Object.entries(requests).filter(([, request]) => isKnown(request)));
}
