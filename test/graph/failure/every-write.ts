import type { Answer, Row, World } from '../../support/gateway.ts';

/** Every mutation that sends a request, but for uploads and login URLs, whose URL is the proof. */
export const writes: readonly string[] = [
  'updateAccount(input: { email: "x@y.example" })',
  'createDomain(input: { domain: "https://a.example" })',
  'updateDomain(input: { id: 3, redirectRoot: "https://b.example" })',
  'deleteDomain(id: 3)',
  'createCampaign(input: { name: "x" })',
  'updateCampaign(input: { id: 3, name: "x" })',
  'deleteCampaign(id: 3)',
  'assignLinkToCampaign(campaignId: 3, linkId: 5)',
  'createChannel(input: { name: "x" })',
  'updateChannel(input: { id: 21, name: "x" })',
  'deleteChannel(id: 21)',
  'assignItemToChannel(channelId: 21, type: LINKS, itemId: 5)',
  'createPixel(input: { type: GTM, name: "x", tag: "GTM-1" })',
  'updatePixel(input: { id: 27, name: "x", tag: "GTM-1" })',
  'deletePixel(id: 27)',
  'createQrCode(input: { type: TEXT, data: { value: "x" }, name: "x" })',
  'updateQrCode(input: { id: 302, data: { value: "x" } })',
  'deleteQrCode(id: 302)',
  'createUser(input: { username: "guest", email: "x@y.example", password: "secret" })',
  'deleteUser(id: 12)',
  'subscribeUser(input: { planId: 2, userId: 12, type: MONTHLY })',
];

/** Those whose result needs nothing of the response. */
export const withoutResult = writes.filter((write) => !write.startsWith('create'));

/** Sends a write. Returns the name of the type of its result, or the code of its error. */
export async function outcomeOf(
  { ask }: Pick<World, 'ask'>,
  write: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { data, errors, text } = await sendWrite(ask, write, headers);
  const [error] = errors;
  if (error) return error.extensions?.code ?? text;
  return String(data?.result['__typename']);
}

/** Sends a write. */
export function sendWrite(
  ask: World['ask'],
  write: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer<{ readonly result: Row } | null>> {
  return ask(
    `mutation { result: ${write} { __typename ... on Rejected { message } } }`,
    {},
    headers,
  );
}
