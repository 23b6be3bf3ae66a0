/** The address of a Redis, with credentials. */
export interface Address {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly username: string | null;
  readonly password: string | null;
  readonly database: number;
}

/** Takes a `redis://` or `rediss://` URL apart. Throws what `URL` and `decodeURIComponent` throw. */
export function readAddress(url: string): Address {
  const { protocol, hostname, port, username, password, pathname } = new URL(url);
  return {
    // An IPv6 address has brackets in a URL, and nowhere else.
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? 6379 : Number(port),
    tls: protocol === 'rediss:',
    username: username === '' ? null : decodeURIComponent(username),
    password: password === '' ? null : decodeURIComponent(password),
    database: Number(pathname.slice(1)),
  };
}

/** The part of an address that may be shown. */
export function placeOf({ host, port }: Pick<Address, 'host' | 'port'>): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
