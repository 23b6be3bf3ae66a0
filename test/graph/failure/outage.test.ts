import { describe, expect, it } from 'vitest';
import { FailureStage, fields, impatient } from './failure-stage.ts';

const stage = new FailureStage();

describe('An outage', () => {
  it('that is over is forgotten: errors are never kept', async () => {
    const { ask } = await stage.start();
    const restore = stage.sandbox.links.fault({ kind: 'error-500' });
    expect((await ask('{ account { id } }')).errors).toHaveLength(1);
    restore();
    expect((await ask('{ account { username } }')).errors).toEqual([]);
  });

  it('met by many requests at once closes the API for as long as one met by few', async () => {
    const { ask } = await stage.start(impatient);
    // The first request of all goes alone; what is tested is what those beside each other do.
    await ask('{ account { id } }');
    stage.sandbox.links.fault({ kind: 'hang' });
    await ask(`{ ${fields.links.slice(1).join(' ')} }`);
    const { errors } = await ask('{ overlays { totalCount } }');
    expect(errors).toMatchObject([{ extensions: { code: 'UPSTREAM_UNAVAILABLE' } }]);
    expect(errors[0]?.extensions?.['retryAfterMs']).toBeLessThanOrEqual(1000);
  });

  it('of a field that is kept shows the kept answer and says how much of it is stale', async () => {
    const { ask } = await stage.start({ 'ttl.account': '0' });
    const { data } = await ask('{ account { id email } }');
    stage.sandbox.links.fault({ kind: 'drop' });
    const answer = await ask('{ account { id email } }');
    expect(answer.errors).toEqual([]);
    expect(answer.data).toEqual(data);
    expect(answer.receipt.stale).toBe(1);
  });
});
