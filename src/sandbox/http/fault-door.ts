import type { IncomingMessage } from 'node:http';
import { type Answer, json } from './answer.ts';
import { kinds, readFault, showFault } from './fault-request.ts';
import type { FaultList } from './faults.ts';

/** The path at which faults are set, listed and removed. */
const PATH = '/__faults';
/** Maximum number of faults of one API at a time. */
const MAX_FAULTS = 100;
const MAX_BODY_BYTES = 16 * 1024;

const LOCAL_NAME = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

/** Whether a request comes from this machine itself, and through no proxy. */
export type IsLocal = (request: IncomingMessage) => boolean;

/** Whether a path is that of the faults. */
export function isFaultPath(path: string): boolean {
  return `${path}/`.startsWith(`${PATH}/`);
}

interface FaultDoor {
  readonly faults: FaultList;
  readonly isLocal: IsLocal;
  /** Reads the body. */
  readonly read: (maxBytes: number) => Promise<Buffer>;
}

/**
 * Sets, lists and removes the faults of one API, for programs and pages of this machine. Requests of other machines,
 * through a proxy, and of pages of another site in a browser are rejected.
 */
export async function answerFaults(
  request: IncomingMessage,
  path: string,
  { faults, isLocal, read }: FaultDoor,
): Promise<Answer> {
  const { origin } = request.headers;
  const refusal = refuse(request, isLocal);
  const answer = refusal ?? act(request.method, path, faults, await read(MAX_BODY_BYTES));
  // The rest of the body is not read: the connection is closed.
  if (refusal) answer.headers['connection'] = 'close';
  if (origin !== undefined && isLocalOrigin(origin)) {
    answer.headers['access-control-allow-origin'] = origin;
    answer.headers['access-control-allow-methods'] = 'GET, POST, DELETE';
    answer.headers['access-control-allow-headers'] = 'content-type';
  }
  answer.headers['vary'] = 'origin';
  return answer;
}

function refuse(request: IncomingMessage, isLocal: IsLocal): Answer | null {
  const { 'content-length': length, origin } = request.headers;
  if (!isLocal(request) || (origin !== undefined && !isLocalOrigin(origin))) {
    return problem(403, ['Only this machine may set faults.']);
  }
  if (Number(length ?? 0) > MAX_BODY_BYTES) {
    return problem(413, [`A fault has at most ${MAX_BODY_BYTES} bytes.`]);
  }
  return null;
}

function isLocalOrigin(origin: string): boolean {
  return URL.canParse(origin) && LOCAL_NAME.test(new URL(origin).host);
}

function act(method = 'GET', path: string, faults: FaultList, body: Buffer): Answer {
  const [id] = path.slice(PATH.length).split('/').filter(Boolean);
  if (method === 'OPTIONS') return list(faults);
  if (method === 'DELETE') {
    if (id === undefined) faults.clear();
    else if (!faults.remove(Number(id))) return problem(404, [`There is no fault ${id}.`]);
    return list(faults);
  }
  if (id !== undefined || (method !== 'GET' && method !== 'POST')) {
    const answer = problem(405, [`GET and POST ${PATH}, DELETE ${PATH} or ${PATH}/ID.`]);
    answer.headers['allow'] = id === undefined ? 'GET, POST, DELETE' : 'DELETE';
    return answer;
  }
  return method === 'GET' ? list(faults) : add(faults, body);
}

function list(faults: FaultList): Answer {
  const does = Object.entries(kinds).map(([kind, each]) => [kind, each.does]);
  return json({ faults: faults.active().map(showFault), kinds: Object.fromEntries(does) });
}

function add(faults: FaultList, body: Buffer): Answer {
  const made = readFault(body.toString('utf8'));
  if ('issues' in made) return problem(400, made.issues);
  if (faults.active().length >= MAX_FAULTS) {
    return problem(400, [`There are ${MAX_FAULTS} faults already. DELETE ${PATH} removes them.`]);
  }
  return json(showFault(faults.add(made.fault)), 201);
}

function problem(status: number, issues: string[]): Answer {
  return json({ issues }, status);
}
