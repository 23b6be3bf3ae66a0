import type { Row } from '../../../support/gateway.ts';
import { Stage } from '../story.ts';

/** What `list` answers. */
export interface Campaigns {
  readonly campaigns: { readonly nodes: readonly Row[]; readonly totalCount: number };
}

/** Every field of a campaign. */
export const fields = 'id databaseId name public rotatorUrl listUrl';
/** Reads all of them. */
export const list = `{ campaigns(first: 500) { totalCount nodes { ${fields} } } }`;

/** One that is seeded with a rotator and open to all, and one without a rotator. */
export const [rotating, plain] = [53, 49] as const;

/** The global ID of a campaign. */
export const globalId = (id: number): string => Buffer.from(`Campaign:${id}`).toString('base64url');

/** A stage for stories of campaigns. */
export class CampaignStage extends Stage {
  /** Every campaign, in the order of the list. */
  async campaigns(): Promise<Campaigns['campaigns']> {
    return (await this.world.data<Campaigns>(list)).campaigns;
  }

  /** A campaign by each of the three ways to one. */
  async found(id: number): Promise<unknown[]> {
    const data = await this.world.data(
      `query ($id: ID!, $text: ID!) {
        node(id: $id) { ... on Campaign { ${fields} } }
        campaign(id: $id) { ${fields} }
        same: campaign(id: $text) { ${fields} }
      }`,
      { id: globalId(id), text: String(id) },
    );
    return [data['node'], data['campaign'], data['same']];
  }
}
