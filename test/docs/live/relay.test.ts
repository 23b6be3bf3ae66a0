import {
  type ConcreteRequest,
  createOperationDescriptor,
  Environment,
  type FetchFunction,
  fetchQuery,
  Network,
  RecordSource,
  Store,
} from 'relay-runtime';
import { describe, expect, it, vi } from 'vitest';
import { firstName, LIVE, ONCE, recipeStage, until, WRONG } from '../support/live-recipes.ts';

const stage = recipeStage();

describe('Relay with the network of docs/live.md', () => {
  /** What Relay's compiler makes of a query for names of campaigns. */
  function compiled(text: string): ConcreteRequest {
    const scalar = (name: string) => ({
      kind: 'ScalarField',
      name,
      alias: null,
      args: null,
      storageKey: null,
    });
    const nodes = {
      kind: 'LinkedField',
      name: 'nodes',
      concreteType: 'Campaign',
      plural: true,
      alias: null,
      args: null,
      storageKey: null,
      selections: [scalar('id'), scalar('name')],
    };
    const args = [{ kind: 'Literal', name: 'first', value: 2 }];
    const selections = [
      {
        ...nodes,
        name: 'campaigns',
        concreteType: 'QueryCampaignsConnection',
        plural: false,
        args,
        storageKey: 'campaigns(first:2)',
        selections: [nodes],
      },
    ];
    const name = /^query (\w+)/.exec(text)?.[1] ?? '';
    const definition = { name, argumentDefinitions: [], selections };
    return {
      kind: 'Request',
      fragment: {
        ...definition,
        kind: 'Fragment',
        type: 'Query',
        abstractKey: null,
        metadata: null,
      },
      operation: { ...definition, kind: 'Operation' },
      params: { id: null, cacheID: text, metadata: {}, name, operationKind: 'query', text },
    } as unknown as ConcreteRequest;
  }

  async function open() {
    type LiveFetch = (options: { url: string }, fetchOnce: FetchFunction) => FetchFunction;
    const { liveFetch } = await stage.load<{ liveFetch: LiveFetch }>('relay.ts');
    const fetchOnce = vi.fn<FetchFunction>(async ({ text }) => {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ query: text });
      return (await fetch(stage.url, { method: 'POST', headers, body })).json() as Promise<never>;
    });
    const network = Network.create(liveFetch({ url: stage.url }, fetchOnce));
    const environment = new Environment({ network, store: new Store(new RecordSource()) });
    return { environment, fetchOnce };
  }

  it('has in its store what others change, until no caller looks', async () => {
    const { environment, fetchOnce } = await open();
    const request = compiled(LIVE);
    const operation = createOperationDescriptor(request, {});
    const kept = environment.retain(operation);
    stage.ends.push(() => kept.dispose());
    const seen: unknown[] = [];
    const subscription = fetchQuery(environment, request as never, {}).subscribe({
      next: (data) => seen.push(firstName(data)),
    });
    await until(() => seen.at(-1), 'Closing sale, old shop');
    const inStore = () => firstName(environment.lookup(operation.fragment).data);
    const told = vi.fn();
    environment.subscribe(environment.lookup(operation.fragment), told);
    await stage.rename('Spring sale');
    await until(inStore, 'Spring sale');
    expect(told).toHaveBeenCalled();
    expect(seen.at(-1)).toBe('Spring sale');
    expect(fetchOnce).not.toHaveBeenCalled();
    subscription.unsubscribe();
    await until(stage.streams, 0);
  });

  it('sends everything else as ever, and fails with what is refused', async () => {
    const { environment, fetchOnce } = await open();
    const data = await fetchQuery(environment, compiled(ONCE) as never, {}).toPromise();
    expect(firstName(data)).toBe('Closing sale, old shop');
    expect(fetchOnce).toHaveBeenCalledTimes(1);
    expect(await stage.streams()).toBe(0);
    const refused = fetchQuery(environment, compiled(WRONG) as never, {}).toPromise();
    await expect(refused).rejects.toThrow('nome');
  });
});
