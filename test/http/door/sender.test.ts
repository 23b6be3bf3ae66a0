import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isForwarded, proveSender, senderOf, signSender } from '../../../src/http/door/sender.ts';

function requestFrom(address: string, version: string, headers: Record<string, string> = {}) {
  const request = new IncomingMessage(new Socket());
  Object.defineProperty(request.socket, 'remoteAddress', { value: address });
  return Object.assign(request, { httpVersion: version, headers });
}

const address = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constant(''));
const version = fc.constantFrom('1.0', '1.1');
const secret = fc.base64String({ minLength: 4 });

describe('The sender of a forwarded request', () => {
  it('is that of the socket on which it arrived first', () => {
    fc.assert(
      fc.property(address, version, secret, (from, over, key) => {
        const [name, value] = signSender(requestFrom(from, over), key);
        const received = requestFrom('127.0.0.1', '1.1', { [name]: value });
        expect(isForwarded(received)).toBe(false);
        expect(proveSender(received, key)).toBe(true);
        expect(senderOf(received)).toEqual({ address: from, version: over });
        expect(isForwarded(received)).toBe(true);
        // Such names are how proxies are recognized.
        expect(received.headers).toEqual({});
      }),
    );
  });

  it('is not believed with any other secret, or after any change', () => {
    fc.assert(
      fc.property(address, secret, secret, fc.nat(), fc.string(), (from, key, other, at, text) => {
        const [name, value] = signSender(requestFrom(from, '1.1'), key);
        const place = at % (value.length + 1);
        const changed = value.slice(0, place) + text + value.slice(place + text.length);
        const isForged = (sent: string, by: string | null): boolean => {
          const received = requestFrom('203.0.113.9', '1.0', { [name]: sent });
          if (proveSender(received, by)) return false;
          expect(senderOf(received)).toEqual({ address: '203.0.113.9', version: '1.0' });
          return true;
        };
        expect(isForged(value, other)).toBe(other !== key);
        expect(isForged(value, null)).toBe(true);
        expect(isForged(changed, key)).toBe(changed !== value);
      }),
    );
  });
});
