import { BadUserInput, type GatewayError } from '../../errors.ts';
import type { Receipt } from '../../upstream/receipt.ts';
import type { GraphContext } from '../context.ts';

/** Maximum number of invalid ids and codes of an operation that get separate errors: an error costs more than a row. */
const MAX_REFUSED = 500;

/** Number that was rejected so far, by operation. */
const refused = new WeakMap<Receipt, number>();

/**
 * Counts one of many ids or codes that cannot be looked up.
 * @throws BadUserInput `BAD_USER_INPUT` from the 501st of the operation on.
 */
export function countRefused({ receipt }: GraphContext, { message }: GatewayError): void {
  const count = (refused.get(receipt) ?? 0) + 1;
  refused.set(receipt, count);
  if (count <= MAX_REFUSED) return;
  throw new BadUserInput(
    `More than ${MAX_REFUSED} IDs of this operation cannot be looked up. One of them: ${message}`,
  );
}
