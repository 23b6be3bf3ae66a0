import { expect, it } from 'vitest';
import { warmUp } from '../../src/start/warm-up.ts';

it('asks a gateway of its own for dashboards, all of which are whole', async () => {
  const answers = await warmUp();
  expect(answers).toHaveLength(2);
  for (const answer of answers) {
    const { data, errors } = JSON.parse(answer);
    expect(errors).toBeUndefined();
    expect(data.channels.nodes).toHaveLength(10);
    expect(data.channels.nodes[9].items.nodes).toHaveLength(5);
  }
});
