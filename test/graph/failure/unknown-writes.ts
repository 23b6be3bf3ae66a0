import type { Answer, World } from '../../support/gateway.ts';

/** All campaigns, by name. */
export const CAMPAIGNS = '{ campaigns { nodes { name } } }';
/** A write that adds a campaign named new. */
export const CREATE = 'createCampaign(input: { name: "new" })';

/** A mutation of one field. */
export const change = (mutation: string): string =>
  `mutation { result: ${mutation} { __typename } }`;

/** What `CAMPAIGNS` answers. */
export interface Campaigns {
  readonly campaigns: { readonly nodes: readonly { readonly name: string }[] };
}

/** The names of the newest campaigns. */
export const names = async (world: World): Promise<string[]> =>
  (await world.data<Campaigns>(CAMPAIGNS)).campaigns.nodes.map(({ name }) => name);

/** Codes of the errors of an answer. */
export const codes = ({ errors }: Answer<unknown>): (string | undefined)[] =>
  errors.map(({ extensions }) => extensions?.code);
