import { expect } from 'vitest';
import type { Answer, Row, World } from '../../../support/gateway.ts';
import type { Stage } from '../story.ts';

/** The channel that these tests change. */
export const CHANNEL = 21;

/** What an update with `expected` returns. */
export interface Updated {
  readonly __typename: string;
  readonly message?: string;
  readonly differences?: readonly string[];
  readonly current?: Row;
  readonly issues?: readonly Row[];
}

const mutation = `mutation ($input: UpdateChannelInput!, $expected: ExpectedChannel) {
  updated: updateChannel(input: $input, expected: $expected) {
    __typename
    ... on Conflict { differences current { ... on Channel { name description } } }
    ... on Rejected { message }
  }
}`;

/** The result of an update that was made. */
export const done = { __typename: 'Channel' };

/** The result of an update that was not made because these members differ. */
export const conflict = (...differences: string[]) => ({ __typename: 'Conflict', differences });

/** Updates of one channel, through gateways and past them. */
export class Channels {
  readonly #stage: Stage;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** Sends an update of the channel. */
  ask(
    input: Row,
    expected?: Row,
    { on = this.#stage.world, headers = {}, signal }: Partial<HowAsked> = {},
  ): Promise<Answer<{ updated: Updated } | null>> {
    const variables = { input: { id: String(CHANNEL), ...input }, expected };
    return on.ask(mutation, variables, headers, signal);
  }

  /** The same, without errors; `calls` is its cost. */
  async change(input: Row, expected?: Row, on?: World): Promise<Updated & { calls: number }> {
    const { data, errors, receipt } = await this.ask(input, expected, on && { on });
    expect(errors).toEqual([]);
    return { ...(data?.updated as Updated), calls: receipt.calls };
  }

  /** Changes the channel past the gateway. */
  async changeElsewhere(members: Row): Promise<void> {
    const { links } = this.#stage.sandbox;
    const response = await fetch(`${links.url}/api/channel/${CHANNEL}/update`, {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${links.key}`,
        'content-type': 'application/json',
        connection: 'close',
      },
      body: JSON.stringify(members),
    });
    expect(response.status).toBe(200);
  }

  /** The name of the channel at the API. */
  async name(): Promise<unknown> {
    const { data } = await this.#stage.world.links<{ data: { channels: Row[] } }>(
      '/api/channels?limit=100',
    );
    return data.channels.find(({ id }) => id === CHANNEL)?.['name'];
  }
}

/** How an update is sent. */
interface HowAsked {
  readonly on: World;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}
