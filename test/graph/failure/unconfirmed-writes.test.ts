import { describe, expect, it } from 'vitest';
import { until, upload } from '../../support/uploads.ts';
import { outcomeOf, sendWrite, withoutResult, writes } from './every-write.ts';
import { FailureStage } from './failure-stage.ts';

const stage = new FailureStage();

/** Lets the link API do what it is asked to do, and answer a write like this. */
function answering(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}) {
  for (const method of ['POST', 'PUT', 'DELETE']) {
    stage.sandbox.links.fault({
      kind: 'answer',
      method,
      rewrite: () => ({ status, headers: { ...headers }, body }),
    });
  }
}

/** Lets the web server in front of the link API answer each request, which the API does not get. */
const unserved = (status: number, body: string) => {
  for (const method of ['POST', 'PUT', 'DELETE']) {
    stage.sandbox.links.fault({ kind: 'html', status, html: body, method });
  }
};

describe('A write that is answered 200 without a readable `error`', () => {
  it.each(writes)('is not known to have happened: %s', async (write) => {
    const world = await stage.start();
    answering({ message: 'Server Error' });
    expect(await outcomeOf(world, write)).toBe('OUTCOME_UNKNOWN');
  });

  it.each([
    [{}],
    [{ id: 7 }],
    [{ data: { id: 7 } }],
    [{ error: null, id: 7 }],
    [{ error: '', id: 7 }],
    [{ error: [], id: 7 }],
    [{ error: {}, id: 7 }],
    [{ success: true, message: 'Deleted' }],
  ])('is not known to have happened with the body %j', async (body) => {
    const world = await stage.start();
    answering(body);
    for (const write of ['createChannel(input: { name: "x" })', 'deleteChannel(id: 21)']) {
      expect(await outcomeOf(world, write)).toBe('OUTCOME_UNKNOWN');
    }
  });

  it.each([[false], [0], ['false'], ['0']])(
    'is rejected if the body says so: `success` %j',
    async (success) => {
      const { ask } = await stage.start();
      for (const error of [{}, { error: null }]) {
        answering({ success, message: 'The name is taken.', ...error });
        const { data } = await sendWrite(ask, 'createChannel(input: { name: "x" })');
        expect(data?.result).toEqual({ __typename: 'Rejected', message: 'The name is taken.' });
      }
    },
  );

  it('is looked for, and not sent again, if it has a key', async () => {
    const world = await stage.start({ writeSettleMs: '1' });
    await world.data('{ channels(first: 3) { nodes { id } } }');
    answering({ success: true });
    const headers = { 'idempotency-key': '"one"', prefer: 'wait=5' };
    const write = 'createChannel(input: { name: "only once" })';
    await until(async () => (await outcomeOf(world, write, headers)) === 'Channel');
    expect(world.calls().filter((call) => call.startsWith('POST'))).toHaveLength(1);
  });

  it('is not known to have happened for an upload', async () => {
    const world = await stage.start({ PORT: '0' });
    const { url } = await world.gateway.listen();
    answering({ id: 7, shorturl: 'https://a.example/x' });
    const { errors } = await upload(url, '/files/a.txt', 'bytes');
    expect(errors?.[0]?.extensions?.code).toBe('OUTCOME_UNKNOWN');
  });

  it('does not make the API count as out of order', async () => {
    const world = await stage.start();
    answering({ message: 'Done' });
    for (const write of writes) await outcomeOf(world, write);
    const { errors } = await world.ask('{ account { id } }');
    expect(errors).toEqual([]);
  });
});

describe('A write that is answered 204', () => {
  it.each(withoutResult)('was made: %s', async (write) => {
    const world = await stage.start();
    answering('', 204);
    expect(await outcomeOf(world, write)).not.toMatch(/^(?:[A-Z_]+|Rejected)$/);
  });

  it('is looked for if it creates something: the answer has no id', async () => {
    const world = await stage.start();
    answering('', 204);
    expect(await outcomeOf(world, 'createChannel(input: { name: "x" })')).toBe('OUTCOME_UNKNOWN');
  });
});

const unmade = [400, 404, 405, 411, 421, 501, 301, 307, 308];

describe('A write that the web server answers itself', () => {
  const causes: Readonly<Record<number, RegExp>> = {
    405: /method/,
    501: /method/,
    301: /redirect/,
    307: /redirect/,
    308: /redirect/,
  };

  it.each(
    unmade.flatMap((status) => [
      [status, '<html>host.internal</html>'] as const,
      [status, ''] as const,
    ]),
  )('with %i and the body %j was not made, and its error says why', async (status, body) => {
    const lines: string[] = [];
    const { ask } = await stage.start({ LOG_LEVEL: 'info' }, undefined, {
      log: { write: (line) => lines.push(line) },
    });
    unserved(status, body);
    for (const write of ['createChannel(input: { name: "x" })', 'deleteChannel(id: 21)']) {
      const { errors, text } = await sendWrite(ask, write);
      const [error] = errors;
      expect(error?.extensions, text).toMatchObject({
        code: 'UPSTREAM_INVALID_RESPONSE',
        upstream: 'LINKS',
        status,
      });
      expect(error?.message).toContain(`HTTP ${status}`);
      expect(error?.message).toMatch(/Nothing was changed\.$/);
      expect(error?.message).toMatch(causes[status] ?? /./);
      expect(text).not.toContain('host.internal');
    }
    const log = lines.join('');
    expect(log).toContain(`HTTP ${status}`);
    expect(log).toMatch(causes[status] ?? /./);
    expect(log).not.toContain('host.internal');
    expect(log).not.toContain(new URL(stage.sandbox.links.url).host);
  });

  it.each([404, 501, 301])(
    'with %i does not make the API count as out of order',
    async (status) => {
      const world = await stage.start();
      unserved(status, '<html>');
      for (const write of writes) {
        expect(await outcomeOf(world, write)).toBe('UPSTREAM_INVALID_RESPONSE');
      }
      expect((await world.ask('{ account { id } channels { totalCount } }')).errors).toEqual([]);
    },
  );

  it('can be sent again with the same key when the host lets it pass', async () => {
    const world = await stage.start();
    stage.sandbox.links.fault({ kind: 'html', status: 405, method: 'POST', times: 1 });
    const headers = { 'idempotency-key': '"one"' };
    const write = 'createChannel(input: { name: "x" })';
    expect(await outcomeOf(world, write, headers)).toBe('UPSTREAM_INVALID_RESPONSE');
    expect(await outcomeOf(world, write, headers)).toBe('Channel');
    expect(world.calls().filter((call) => call.startsWith('POST'))).toHaveLength(2);
  });

  it.each([302, 303, 500, 502, 503, 504])(
    'with %i is not known to have happened',
    async (status) => {
      const world = await stage.start();
      unserved(status, '<html>');
      expect(await outcomeOf(world, 'deleteChannel(id: 21)')).toBe('OUTCOME_UNKNOWN');
    },
  );

  it.each([400, 404, 405])(
    'with %i and half of a JSON body is not known to have happened',
    async (status) => {
      const world = await stage.start();
      answering('{"error":0,"id":', status);
      expect(await outcomeOf(world, 'deleteChannel(id: 21)')).toBe('OUTCOME_UNKNOWN');
    },
  );

  it('was not made if it is an upload, and the sender learns why', async () => {
    const world = await stage.start({ PORT: '0' });
    const { url } = await world.gateway.listen();
    unserved(411, '');
    const { errors, status } = await upload(url, '/files/a.txt', 'bytes');
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'UPSTREAM_INVALID_RESPONSE',
      status: 411,
    });
    expect(errors?.[0]?.message).toContain('length');
    expect(status).toBe(503);
  });
});

describe('A read that the web server answers itself', () => {
  it.each([404, 501, 301])('with %i fails alone, and a known list is served', async (status) => {
    const { ask, data } = await stage.start({ 'ttl.channels': '1' });
    const before = await data('{ channels(first: 3) { nodes { name } } }');
    stage.sandbox.links.fault({ kind: 'html', status, html: '<html>' });
    const known = await ask('{ channels(first: 3) { nodes { name } } }');
    expect({ data: known.data, errors: known.errors }).toEqual({ data: before, errors: [] });
    for (const field of [
      'pixels { totalCount }',
      'campaigns { totalCount }',
      'plans { id }',
      'users { id }',
      'account { id }',
      'files { totalCount }',
    ]) {
      const { errors } = await ask(`{ ${field} }`);
      expect(errors[0]?.extensions).toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE', status });
      expect(errors[0]?.message).not.toContain('changed');
    }
  });
});
