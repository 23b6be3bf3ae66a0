// The socket of a `VersionedUpstream`, in a thread of its own: Node accepts one connection in a turn of its event loop, so a
// busy thread sees requests long after they came. This one does nothing else, and notes when each came and was answered.
import { createServer } from 'node:http';
import { hrtime } from 'node:process';
import { text } from 'node:stream/consumers';
import { parentPort } from 'node:worker_threads';

/** Milliseconds of the clock that all threads share. */
const now = () => Number(hrtime.bigint()) / 1e6;
const send = (message) => parentPort.postMessage(message, []);
const answers = new Map();
let requests = 0;

const server = createServer((request, response) => {
  const id = requests++;
  const { method, url: path, headers } = request;
  answers.set(id, response);
  send({ kind: 'request', id, at: now(), method, path, key: headers.authorization ?? '' });
  response.once('close', () => {
    answers.delete(id);
    send({ kind: 'closed', id, at: now() });
  });
  // A sender that is killed in mid-request leaves a body that ends too soon: its connection is closed then.
  text(request).then(
    (body) => send({ kind: 'whole', id, body }),
    () => response.destroy(),
  );
});

parentPort.on('message', ({ id, status, headers, body }) => {
  const response = answers.get(id);
  if (!response) return;
  send({ kind: 'answered', id, at: now() });
  response.writeHead(status, headers);
  response.end(body);
});

server.listen(0, '127.0.0.1', () => send({ kind: 'listening', port: server.address().port }));
