import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import { FailureStage } from '../../graph/failure/failure-stage.ts';
import { type Certificate, makeCertificate } from '../../support/certificate.ts';

const stage = new FailureStage();
const certificate: Certificate = makeCertificate();
afterAll(() => certificate.remove());
const [cert, key] = [certificate.cert, certificate.key].map((path) => readFileSync(path));

/** The servers that cannot be spoken to, and what the log says of each. */
const servers: readonly (readonly [string, () => Server, RegExp])[] = [
  [
    'speaks no TLS',
    () =>
      createServer((socket) =>
        socket.on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
      ),
    /LINKS_BASE_URL does not use the protocol of the URL .*http or https/,
  ],
  [
    'has a certificate of a private authority',
    () => createTlsServer({ cert, key }),
    /certificate of LINKS_BASE_URL is not trusted \(\w+\).*NODE_EXTRA_CA_CERTS/,
  ],
  [
    'closes the handshake',
    () => createServer((socket) => socket.on('data', () => socket.destroy())),
    /LINKS_BASE_URL closes the TLS handshake \(\w+\)/,
  ],
  [
    'speaks an old version of TLS',
    () =>
      createTlsServer({
        cert,
        key,
        minVersion: 'TLSv1',
        maxVersion: 'TLSv1.1',
        ciphers: 'ALL:@SECLEVEL=0',
      }),
    /too old \(\w+\).*--tls-min-v1\.0/,
  ],
];

describe('A server that', () => {
  it.each(servers)('%s gets nothing', async (_, create, sentence) => {
    let connections = 0;
    let requests = '';
    const server = create();
    server.on('error', () => {});
    server.on('tlsClientError', () => {});
    server.on('connection', (socket) => {
      connections += 1;
      socket.on('error', () => {});
    });
    server.on('secureConnection', (socket) =>
      socket.on('data', (data: Buffer) => (requests += data)),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const lines: string[] = [];
    const { port } = server.address() as AddressInfo;
    const env = { LINKS_BASE_URL: `https://127.0.0.1:${port}`, LOG_LEVEL: 'info' };
    const { ask } = await stage.start(env, undefined, {
      log: { write: (line) => lines.push(line) },
    });
    const read = await ask('{ account { id } }');
    expect(read.errors[0]?.extensions?.code).toBe('UPSTREAM_UNAVAILABLE');
    expect([connections, read.receipt.calls]).toEqual([1, 1]);
    for (const write of ['deletePixel(id: 27)', 'createChannel(input: { name: "x" })']) {
      const { errors } = await ask(`mutation { ${write} { __typename } }`);
      expect(errors[0]?.extensions?.code).toBe('UPSTREAM_UNAVAILABLE');
    }
    expect([connections, requests]).toEqual([3, '']);
    const log = lines.join('');
    expect(log).toMatch(sentence);
    expect(log).not.toContain(String(port));
    server.close();
  });
});
