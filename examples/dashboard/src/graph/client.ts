import { Client, fetchExchange, mapExchange } from '@urql/core';
import { type Cache, cacheExchange } from '@urql/exchange-graphcache';
import { possibleTypes } from 'links-market-client';
import { Campaigns } from './documents.ts';
import { liveExchange } from './live-exchange.ts';
import { headersOf, type Settings, WAIT_SECONDS } from './settings.ts';

type Campaign = NonNullable<
  ReturnType<NonNullable<typeof Campaigns.__apiType>>['campaigns']
>['nodes'][number];

function insertCampaign(cache: Cache, made: Campaign): void {
  cache.updateQuery({ query: Campaigns }, (data) => {
    if (!data?.campaigns) return data;
    const { nodes, totalCount } = data.campaigns;
    // Listed already, if an earlier request has made it.
    if (nodes.some(({ id }) => id === made.id)) return data;
    const more = totalCount === null ? null : totalCount + 1;
    return { ...data, campaigns: { ...data.campaigns, totalCount: more, nodes: [made, ...nodes] } };
  });
}

/** Things without an id are part of what they hang on. */
const part = (): null => null;

function graphCache() {
  return cacheExchange({
    // With these it knows which fragments are meant; without, it guesses by their fields.
    possibleTypes,
    keys: {
      CampaignConnection: part,
      ChannelItemConnection: part,
      HistoryPoint: part,
      InputIssue: part,
      InvalidInput: part,
      JobConnection: part,
      JobError: part,
      LabelCount: part,
      PageInfo: part,
      PlanUsage: part,
      Purchase: ({ code }) => code as string,
      QrCodeConnection: part,
      QrStatistics: part,
      RateLimit: part,
      Rejected: part,
    },
    updates: {
      Mutation: {
        createCampaign({ createCampaign }, _args, cache) {
          const made = createCampaign as (Campaign & { __typename: string }) | undefined;
          if (made?.__typename === 'Campaign') insertCampaign(cache, made);
        },
      },
    },
  });
}

/** The client of the page: live queries, a normalized cache, and the gateway. */
export function createClient({ gateway, token }: Settings): Client {
  const url = `${gateway}/graphql`;
  const headers = headersOf(token, WAIT_SECONDS);
  return new Client({
    url,
    preferGetMethod: false,
    fetchOptions: { headers },
    exchanges: [
      liveExchange({ url, headers: token ? { authorization: `Bearer ${token}` } : {} }),
      graphCache(),
      mapExchange({
        // Ages go on from when they came.
        onResult: (result) => ({
          ...result,
          extensions: { ...result.extensions, receivedAt: Date.now() },
        }),
      }),
      fetchExchange,
    ],
  });
}
