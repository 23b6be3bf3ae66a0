import { expect, it } from 'vitest';
import { Agent, codeOf } from '../support/agent.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { replicaStage } from '../support/replica-worlds.ts';

const CREATE =
  'mutation Create($name: String!) { createChannel(input: { name: $name }) { ... on Channel { id } } }';

describeWith(redisServer, 'Agents of replicas', () => {
  const stage = replicaStage();

  const agents = async (): Promise<readonly [Agent, Agent]> => {
    const env = { PORT: '0', CALLER_CLASSES: '{"agent": {"weight": 1}}' };
    const worlds = await stage.start(2, { env });
    const urls = await Promise.all(worlds.map(({ gateway }) => gateway.listen()));
    const [one, other] = urls.map(({ url }) => new Agent(url));
    if (!one || !other) throw new Error('no replicas');
    return [one, other];
  };
  const created = (): number =>
    stage.sandbox.links.requests.filter(({ path }) => path.endsWith('/channel/add')).length;

  it('have a confirmation of one on the other, for one change', async () => {
    const [one, other] = await agents();
    const variables = { name: 'Spring' };
    const confirmation = await one.confirm(CREATE, variables);
    const sent = { operation: CREATE, variables, confirmation, key: 'first' };
    const made = await other.call('graph_change', sent);
    expect(made.isError).toBe(false);
    expect((await one.call('graph_change', sent)).data).toEqual(made.data);
    const reused = await one.call('graph_change', { ...sent, key: 'second' });
    expect(codeOf(reused)).toBe('CONFIRMATION_INVALID');
    expect(created()).toBe(1);
  });

  it('make equal changes without a key once', async () => {
    const [one, other] = await agents();
    const variables = { name: 'Equal' };
    const results = await Promise.all(
      [one, other, one, other].map(async (agent) => {
        const confirmation = await agent.confirm(CREATE, variables);
        return agent.call('graph_change', { operation: CREATE, variables, confirmation });
      }),
    );
    expect(new Set(results.map(({ data }) => JSON.stringify(data))).size).toBe(1);
    expect(results.map(({ isError }) => isError)).toEqual([false, false, false, false]);
    expect(created()).toBe(1);
  });
});
