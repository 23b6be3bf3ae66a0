import { LINK_KEYS } from '../../../src/sandbox/seed/people.ts';
import type { Attack } from './attack.ts';
import { othersServed, tokens } from './target.ts';

const MIB = 1024 * 1024;
const KEYLESS = 200;
const TRICKLING = 30;
/** Longer apart than any honest connection sends its bytes, and short of what counts as silence. */
const BYTE_EVERY_MS = 8000;
const ABORTED = 6;

/** The head of an upload of some bytes. */
function uploadHead(token: string, bytes: number, name: string): string {
  const lines = [
    `PUT /files/${name}.bin HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${token}`,
    `Content-Length: ${bytes}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** Attacks by files that do not come as they should. */
export const uploadAttacks: readonly Attack[] = [
  {
    name: 'uploads-keyless',
    about: 'Two hundred uploads send a megabyte each with keys that were made up, and stop.',
    env: { AUTH_MODE: 'passthrough' },
    readerToken: LINK_KEYS.admin,
    // Each key is shown to the upstream once, on a budget of its own.
    mayCall: KEYLESS,
    // At the peak, with the pieces that were read to be thrown away.
    connections: { count: KEYLESS, mayHoldBytes: 384 * 1024 },
    async run(target) {
      const megabyte = 'x'.repeat(MIB);
      await target.openMany(
        KEYLESS,
        (index) => uploadHead(`made-up-${index}`, 2 * MIB, `keyless-${index}`) + megabyte,
      );
      await target.wait(2500);
    },
  },
  {
    name: 'uploads-trickling',
    about:
      'Thirty uploads send a byte each eight seconds; somebody else reads what nobody has read.',
    // Of which two are the other’s reads: half of the minute is left to others.
    mayCall: 15,
    async run(target) {
      const sockets = await target.openMany(
        TRICKLING,
        (index) => `${uploadHead(tokens.attacker, MIB, `trickling-${index}`)}x`,
      );
      const trickle = setInterval(() => {
        for (const socket of sockets) socket.write('x');
      }, BYTE_EVERY_MS);
      await target.wait(2000);
      const served = [
        await target.reads('{ domains { totalCount } }', 2),
        await target.reads('{ pixels { totalCount } }', 2),
      ];
      clearInterval(trickle);
      return [othersServed('lists that were not read before are served to others', served)];
    },
  },
  {
    name: 'uploads-aborted',
    about:
      'Six uploads are broken off one after the other; somebody else reads what nobody has read.',
    mayCall: ABORTED + 1,
    async run(target) {
      for (let index = 0; index < ABORTED; index += 1) {
        const head = uploadHead(tokens.attacker, MIB, `aborted-${index}`);
        const socket = await target.open(head + 'x'.repeat(MIB / 8));
        await target.wait(150);
        socket.destroy();
        await target.wait(50);
      }
      return [
        othersServed('a list that was not read before is served to others', [
          await target.reads('{ domains { totalCount } }', 3),
        ]),
      ];
    },
  },
];
