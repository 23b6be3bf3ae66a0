import type { Server } from 'node:http';

/** The address cannot be listened on. One line, for the operator. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/**
 * Begins to listen; port 0 takes a free one. The answer is the URL that a person on this machine can
 * open, without a trailing slash. `setting` is what the port was set by.
 * @throws ListenError when the address cannot be had; the message says what to set.
 */
export async function listen(
  server: Server,
  port: number,
  host: string,
  setting: string,
): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => {
      reject(new ListenError(refusal(error, { port, host, setting }), { cause: error }));
    };
    server.once('error', fail);
    server.listen(port, host, () => {
      server.off('error', fail);
      resolve();
    });
  });
  return addressOf(server, host);
}

function refusal(
  error: NodeJS.ErrnoException,
  {
    host,
    port,
    setting,
  }: { readonly host: string; readonly port: number; readonly setting: string },
): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is in use by another process. Set ${setting} to a free port, or to 0 for any.`;
    case 'EACCES':
      return `This user may not listen on port ${port} of ${host}. Set ${setting} to 1024 or above.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine. Set HOST to an address of this machine, to 127.0.0.1 or to 0.0.0.0.`;
    default:
      return `Cannot listen on port ${port} of ${host}: ${error.message}.`;
  }
}

function addressOf(server: Server, host: string): string {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const local = ['127.0.0.1', '::1', 'localhost', '0.0.0.0', '::'].includes(host);
  const name = local ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}
