import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSealing } from '../../src/storage/sealing.ts';

const secret = 'a secret of at least 32 characters';
const sealing = createSealing(secret);
const replica = createSealing(secret);
const stranger = createSealing(`${secret}!`);

describe('a name', () => {
  it('is the same on every replica, and another for each text, kind and secret', () => {
    const name = sealing.name('budget', 'LINKS:gateway');
    expect(name).toMatch(/^[\w-]{22}$/);
    expect(replica.name('budget', 'LINKS:gateway')).toBe(name);
    expect(sealing.name('budget', 'LINKS:gatewaz')).not.toBe(name);
    expect(sealing.name('caller', 'LINKS:gateway')).not.toBe(name);
    expect(stranger.name('budget', 'LINKS:gateway')).not.toBe(name);
  });

  it('keeps a kind apart from its text', () => {
    const text = fc.string({ maxLength: 3 });
    fc.assert(
      fc.property(text, text, text, text, (kind, told, otherKind, other) => {
        fc.pre(kind !== otherKind || told !== other);
        expect(sealing.name(kind, told)).not.toBe(sealing.name(otherKind, other));
      }),
    );
    expect(sealing.name('a', 'bc')).not.toBe(sealing.name('ab', 'c'));
  });
});

describe('what is sealed', () => {
  const text = fc.string({ unit: 'grapheme' });

  it('opens on every replica, under its name', () => {
    fc.assert(
      fc.property(text, text, (name, told) => {
        expect(replica.open(name, sealing.seal(name, told))).toBe(told);
      }),
    );
  });

  it('never looks the same twice, and shows nothing of its text', () => {
    const sealed = sealing.seal('name', 'ada@example.com');
    expect(sealing.seal('name', 'ada@example.com').equals(sealed)).toBe(false);
    expect(sealed.includes('ada')).toBe(false);
  });

  it('does not open with any bit of it changed', () => {
    fc.assert(
      fc.property(text, fc.nat(), fc.integer({ min: 1, max: 255 }), (told, at, bits) => {
        const sealed = sealing.seal('name', told);
        const index = at % sealed.length;
        sealed.writeUInt8(sealed.readUInt8(index) ^ bits, index);
        expect(sealing.open('name', sealed)).toBeNull();
      }),
    );
  });

  it('does not open when cut off or longer than it was', () => {
    const sealed = sealing.seal('name', 'told');
    for (let length = 0; length < sealed.length; length += 1) {
      expect(sealing.open('name', sealed.subarray(0, length))).toBeNull();
      expect(sealing.open('name', sealed.subarray(sealed.length - length))).toBeNull();
    }
    expect(sealing.open('name', Buffer.concat([sealed, Buffer.of(0)]))).toBeNull();
  });

  it('does not open under another name or with another secret', () => {
    const sealed = sealing.seal('name', 'told');
    expect(sealing.open('other', sealed)).toBeNull();
    expect(stranger.open('name', sealed)).toBeNull();
  });

  it('is no invented text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        expect(sealing.open('name', Buffer.from(bytes))).toBeNull();
        expect(sealing.open('name', Buffer.of(1, ...bytes))).toBeNull();
      }),
    );
  });
});
