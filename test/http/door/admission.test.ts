import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Authenticate } from '../../../src/auth/authenticate.ts';
import type { Viewer } from '../../../src/auth/viewer.ts';
import { type Admission, Door } from '../../../src/http/door/admission.ts';
import { createHostGuard } from '../../../src/http/door/host-guard.ts';
import { Origins } from '../../../src/http/door/origins.ts';

const MIA: Viewer = { name: 'mia', role: 'viewer' };
const REFUSED = new Error('not known here');

const server = createServer();
let url: string;
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

/** Admits a request to a gateway on this machine that asks `authenticate` who sends it. */
async function admit(authenticate: Authenticate, init: RequestInit = {}): Promise<Admission> {
  const door = new Door({
    authenticate,
    hostGuard: createHostGuard('127.0.0.1', []),
    origins: new Origins(['https://app.example'], { loopback: false, onRefused: () => {} }),
  });
  const asked = fetch(url, init);
  const [request, response] = await once(server, 'request');
  const admission = door.admit(request as IncomingMessage, false);
  response.end();
  await asked;
  return admission;
}

/** What comes of asking who sent a request. */
async function outcomeOf(admission: Admission): Promise<unknown> {
  try {
    return await admission.identify();
  } catch (error) {
    return error;
  }
}

describe('The sender of a request', () => {
  const ways: [string, Authenticate, unknown][] = [
    ['is known at once', () => MIA, MIA],
    ['is known later', async () => MIA, MIA],
    [
      'is refused at once',
      () => {
        throw REFUSED;
      },
      REFUSED,
    ],
    ['is refused later', () => Promise.reject(REFUSED), REFUSED],
  ];

  it.each(ways)('%s, and is asked for once', async (_, authenticate, outcome) => {
    let asked = 0;
    const admission = await admit((presented) => {
      asked += 1;
      return authenticate(presented);
    });
    expect(asked).toBe(0);
    const together = await Promise.all([outcomeOf(admission), outcomeOf(admission)]);
    expect([...together, await outcomeOf(admission)]).toEqual([outcome, outcome, outcome]);
    expect(asked).toBe(1);
  });

  it('is known without a promise once it is known', async () => {
    const admission = await admit(async () => MIA);
    expect(admission.identify()).toBeInstanceOf(Promise);
    expect(admission.owner).toBe('127.0.0.1');
    await admission.identify();
    expect(admission.identify()).toBe(MIA);
    expect(admission.owner).toBe('mia');
  });

  it('can be asked for again, by what it presented', async () => {
    const presented: unknown[] = [];
    const admission = await admit(
      (each) => {
        presented.push(each);
        return MIA;
      },
      { headers: { authorization: 'Bearer secret' } },
    );
    await admission.identify();
    const again = admission.identifyAgain();
    await again();
    await again();
    const one = { authorization: 'Bearer secret', address: '127.0.0.1' };
    expect(presented).toEqual([one, one, one]);
  });
});
