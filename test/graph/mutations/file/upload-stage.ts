import type { LoggedRequest, Sandbox } from '../../../../src/sandbox/sandbox.ts';
import type { AnswerError, Row, World, WorldOptions } from '../../../support/gateway.ts';
import { uploadWorlds } from '../../../support/upload-worlds.ts';
import { someBytes } from '../../../support/uploads.ts';

/** What came back of a multipart request. */
export interface Reply {
  readonly status: number;
  readonly data?: { readonly uploadFile: Row };
  readonly errors?: readonly AnswerError[];
}

/** The header without which no multipart request is heard. */
export const preflighted: Readonly<Record<string, string>> = { 'apollo-require-preflight': 'true' };

/** The mutation, with all that it may answer. */
export const operation = `mutation ($input: UploadFileInput!) {
  uploadFile(input: $input) {
    __typename
    ... on File { id databaseId name shortUrl }
    ... on InvalidInput { message issues { path message } }
    ... on Rejected { message upstream }
  }
}`;

/** What is in a file about which nothing else is said. */
export const BYTES = someBytes(300_000);

/** A file as a browser would have it. */
export const file = (name = 'pattern.bin', bytes: Uint8Array<ArrayBuffer> | string = BYTES): File =>
  new File([bytes], name);

/** The code of the first error. */
export const code = ({ errors }: Reply): string | undefined => errors?.[0]?.extensions?.code;

/** The bytes to which an uploaded file's address leads. */
export async function downloaded({ data }: Reply): Promise<Uint8Array> {
  return new Uint8Array(await (await fetch(String(data?.uploadFile['shortUrl']))).arrayBuffer());
}

/** A stage for uploads over sockets: the same data and an empty cache at the start of each test. */
export class UploadStage {
  readonly #worlds = uploadWorlds({ uploadInlineMaxBytes: '400000' });

  get sandbox(): Sandbox {
    return this.#worlds.current().sandbox;
  }

  get world(): World {
    return this.#worlds.current().world;
  }

  /** Where its gateway listens. */
  get url(): string {
    return this.#worlds.current().url;
  }

  /** A further gateway on the same sandbox. */
  open(options: WorldOptions = {}): Promise<{ world: World; url: string }> {
    return this.#worlds.open(options);
  }

  /** The writes that have reached the sandbox. */
  received(): readonly LoggedRequest[] {
    return this.#worlds.received();
  }

  /** Sends a multipart request with these parts, in this order. */
  async send(
    parts: readonly (readonly [name: string, part: string | File])[],
    { to = this.url, headers = preflighted } = {},
  ): Promise<Reply> {
    const body = new FormData();
    for (const [name, part] of parts) body.append(name, part);
    const response = await fetch(`${to}/graphql`, { method: 'POST', headers, body });
    return { status: response.status, ...((await response.json()) as object) };
  }

  /** Uploads a file the way clients do. */
  uploadFile(
    part: File,
    input: Row = {},
    { to = this.url, query = operation } = {},
  ): Promise<Reply> {
    return this.send(
      [
        ['operations', JSON.stringify({ query, variables: { input: { ...input, file: null } } })],
        ['map', '{"0":["variables.input.file"]}'],
        ['0', part],
      ],
      { to },
    );
  }
}
