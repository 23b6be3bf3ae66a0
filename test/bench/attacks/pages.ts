import type { Attack } from './attack.ts';

const CONNECTIONS = 100;
const ON_EACH = 10;
const BROWSER = 'User-Agent: Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/142.0\r\n';

/** What a page makes a browser add over plain HTTP: by `fetch`, of an image, and of an event stream. */
const heads = [
  'Origin: http://evil.example\r\nAccept: */*\r\n',
  'Accept: image/avif,image/webp\r\n',
  'Origin: null\r\nAccept: text/event-stream\r\n',
  'Referer: http://evil.example/\r\nAccept: text/event-stream\r\n',
];

/** A query that no caller has asked before, so that an answer would cost a call. */
const unasked = (index: number, live: boolean): string =>
  `/graphql?query=query${live ? '%20@live' : ''}{user(id:"${index}"){email}}`;

/** Several requests on one connection, one behind the other. */
const onOne = (connection: number, request: (index: number) => string): string =>
  Array.from({ length: ON_EACH }, (_, each) => request(connection * ON_EACH + each)).join('');

/** Attacks by what browsers, proxies and their like can be brought to send. */
export const pageAttacks: readonly Attack[] = [
  {
    name: 'foreign-pages',
    about:
      'A thousand GETs of a page of another origin over plain HTTP: fetched, as images and as event streams, for what nobody has read.',
    env: { AUTH_MODE: 'none', HOST: '0.0.0.0' },
    mayCall: 0,
    async run(target) {
      await target.openMany(CONNECTIONS, (connection) =>
        onOne(connection, (index) => {
          const head = heads[index % heads.length] ?? '';
          const path = unasked(index, head.includes('event-stream'));
          return `GET ${path} HTTP/1.1\r\nHost: gateway.example\r\n${BROWSER}${head}\r\n`;
        }),
      );
      await target.wait(1500);
    },
  },
  {
    name: 'targets',
    about:
      'A thousand requests whose targets are whole addresses of other hosts, or nothing that can be read, and a hundred tunnels.',
    env: { AUTH_MODE: 'none' },
    mayCall: 0,
    async run(target) {
      const hosts = ['evil.example', 'evillocalhost', 'user@localhost', 'x:99999', ''];
      await target.openMany(CONNECTIONS, (connection) =>
        onOne(connection, (index) => {
          const address = `http://${hosts[index % hosts.length]}${unasked(index, false)}`;
          return `GET ${address} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
        }),
      );
      await target.openMany(
        CONNECTIONS,
        () => 'CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n',
      );
      await target.wait(1500);
    },
  },
];
