import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A registry that has one package in one version, as npm asks it. */
export interface Registry {
  readonly url: string;
  /** Who has asked already gets no answer from now on. */
  close(): void;
}

/** Serves a packed file as the package that its manifest describes. */
export async function startRegistry(
  file: string,
  manifest: { readonly name: string; readonly version: string },
): Promise<Registry> {
  const tarball = readFileSync(file);
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const server = createServer((request, response) => {
    const { host = '' } = request.headers;
    const { name, version } = manifest;
    if (request.url === `/${name}`) {
      const dist = { tarball: `http://${host}/package.tgz`, integrity };
      const versions = { [version]: { ...manifest, dist } };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ name, 'dist-tags': { latest: version }, versions }));
    } else if (request.url === '/package.tgz') response.end(tarball);
    else response.writeHead(404).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
