import { once } from 'node:events';
import { Agent, type RequestListener, request } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { ListenError } from '../../../src/http/socket/listen.ts';
import { Port } from '../../../src/http/socket/port.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const clock = new VirtualClock();
const opened: Port[] = [];
afterEach(() => Promise.all(opened.splice(0).map((port) => port.close())));

async function serve(handle: RequestListener): Promise<{ port: Port; url: string }> {
  const port = new Port({ clock, graceMs: 10_000 });
  port.handle = (asked, response) => {
    port.drain.watch(response);
    handle(asked, response);
  };
  opened.push(port);
  return { port, url: (await port.listen(0, '127.0.0.1')).url };
}

describe('a port', () => {
  it.each([
    ['that is in use', '127.0.0.1', /^Port \d+ on 127.0.0.1 is in use .* Set PORT to a free port/],
    ['of an address that this machine does not have', '203.0.113.1', /Set HOST/],
  ])('%s is refused with the setting to change', async (_, host, message) => {
    const { url } = await serve(() => {});
    const listening = new Port({ clock, graceMs: 0 }).listen(Number(new URL(url).port), host);
    await expect(listening).rejects.toThrow(message);
    await expect(listening).rejects.toBeInstanceOf(ListenError);
  });

  it('ends at once what is still running when the grace is over', async () => {
    const running: unknown[] = [];
    const { port, url } = await serve((asked) => running.push(asked));
    const sent = request(url).end();
    const failed = once(sent, 'error');
    sent.on('error', () => undefined);
    while (running.length === 0) await clock.settle();
    const ended: string[] = [];
    const closed = port.close().finally(() => ended.push('closed'));
    await clock.advance(9999);
    expect(ended).toEqual([]);
    await clock.advance(1);
    await closed;
    expect((await failed)[0]).toMatchObject({ code: 'ECONNRESET' });
  });

  it('waits for no idle connection, and can be closed twice', async () => {
    const { port, url } = await serve((_, response) => void response.end());
    const agent = new Agent({ keepAlive: true });
    const [response] = await once(request(url, { agent }).end(), 'response');
    await once(response.resume(), 'end');
    await Promise.all([port.close(), port.close()]);
    agent.destroy();
  });
});
