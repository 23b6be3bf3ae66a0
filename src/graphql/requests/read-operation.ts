import { GraphQLError } from 'graphql';
import type { FetchAPI, GraphQLParams } from 'graphql-yoga';
import { BadUserInput, GatewayError } from '../../errors.ts';
import { type BodyLimits, isMultipart, readBody } from '../../http/door/body/body-limit.ts';
import { readForm } from '../../http/door/body/multipart.ts';
import { envelopeFault, isJson } from '../../http/door/envelope.ts';
import type { RequestRecord } from '../request-record.ts';

/** A body that is no larger stays with its request until the answer ends. */
const KEPT_BYTES = 4096;

type Parsed = GraphQLParams | GraphQLParams[];

/** Reads the parameters of an operation. */
export type Parse = (request: Request) => Parsed | Promise<Parsed>;

/** Takes note of the bytes that a body takes from now on. */
export type Hold = (bytes: number) => void;

/** How a body is to be read. */
interface Body {
  readonly parse: Parse;
  /** Bytes by its head; `null` where that does not say. */
  readonly announced: number | null;
  readonly maxBytes: number;
  readonly hold: Hold;
  readonly fetchAPI: FetchAPI;
  readonly record: Pick<RequestRecord, 'batch'>;
}

/**
 * The parser for a content type; `undefined` where that is none of an operation. JSON and forms with files have
 * parsers of their own in place of Yoga's, which compares content types byte by byte.
 * Implements: RFC 9110 section 8.3.1.
 */
export function parserOf(
  method: string,
  type: string | null,
  library: Parse | undefined,
  limits: BodyLimits,
): Parse | undefined {
  if (method !== 'POST') return library;
  if (isJson(type)) return readJson;
  return isMultipart(type) ? (request) => readForm(request, limits) : library;
}

/**
 * Reads the operation in a request. A body of unknown length is counted, since Yoga's own limit wraps every body in
 * a transform stream, which costs two thirds of all throughput. A large one is read here too: what Yoga's request
 * reads of its body it keeps until its answer ends, in three forms.
 * @throws BadUserInput `BAD_USER_INPUT` for what is no operation, where the parsers would fail in ways of their own,
 *   and for a list of operations, before any of them is looked at.
 */
export async function readOperation(request: Request, body: Body): Promise<GraphQLParams> {
  const parsed = await parsedOf(request, body);
  if (typeof parsed !== 'object' || parsed === null) {
    throw new BadUserInput('An operation must be a JSON object.');
  }
  if (Array.isArray(parsed)) {
    body.record.batch = parsed.length;
    throw new BadUserInput('A request holds one operation, not a list of them.');
  }
  const fault = envelopeFault({ ...parsed });
  if (fault !== null) throw new BadUserInput(fault);
  return parsed;
}

/** What a parser makes of the body, or throws in words for callers. */
async function parsedOf(
  request: Request,
  { announced, fetchAPI, hold, maxBytes, parse }: Body,
): Promise<Parsed | null> {
  try {
    const isKept = announced !== null && announced <= KEPT_BYTES;
    const stream = isKept ? null : request.body;
    if (!stream) return await parse(request);
    const bytes = await readBody(stream, maxBytes);
    hold(bytes.byteLength);
    const { headers, method, signal, url } = request;
    return await parse(new fetchAPI.Request(url, { method, headers, signal, body: bytes }));
  } catch (error) {
    if (error instanceof GraphQLError || error instanceof GatewayError) throw error;
    if (isMultipart(request.headers.get('content-type'))) {
      // A body that is no form, or ends too early, fails with words of the library's.
      throw new BadUserInput(
        'The multipart request cannot be read: its parts must be `operations`, `map` and at most ten files.',
      );
    }
    if (!(error instanceof SyntaxError)) throw error;
    throw new BadUserInput('`variables` and `extensions` must be JSON.');
  }
}

async function readJson(request: Request): Promise<Parsed> {
  try {
    return (await request.json()) as Parsed;
  } catch (error) {
    if (error instanceof GraphQLError || error instanceof GatewayError) throw error;
    throw new BadUserInput('POST body sent invalid JSON.');
  }
}
