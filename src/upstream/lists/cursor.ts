import { BadUserInput } from '../../errors.ts';

/**
 * A place in a list: where a row stood, and which row it was. The row is looked for there first, so
 * that a cursor stays good while rows come and go before it.
 */
export interface Cursor {
  /** 1-based, in pages of `perPage`. */
  readonly page: number;
  /** 0-based, in that page. */
  readonly index: number;
  /** The page size that the place was counted in. */
  readonly perPage: number;
  /** The row's identity in its list. */
  readonly identity: string;
}

const FORM = /^c1:(\d{1,9}):(\d{1,9}):(\d{1,9}):(.{1,64})$/;

/** The opaque form that frontends keep and send back. */
export function encodeCursor({ page, index, perPage, identity }: Cursor): string {
  return Buffer.from(`c1:${page}:${index}:${perPage}:${identity}`).toString('base64url');
}

/** @throws BadUserInput `BAD_USER_INPUT` for anything that `encodeCursor` did not make. */
export function decodeCursor(text: string, argument: 'after' | 'before'): Cursor {
  const match = FORM.exec(Buffer.from(text, 'base64url').toString());
  const [, page, index, perPage, identity] = match ?? [];
  const cursor = { page: Number(page), index: Number(index), perPage: Number(perPage) };
  if (identity === undefined || cursor.page < 1 || cursor.perPage < 1) {
    throw new BadUserInput(
      `"${argument}" is not a cursor of this API. Pass an edge's cursor, or a value of pageInfo, as it is.`,
    );
  }
  return { ...cursor, identity };
}
