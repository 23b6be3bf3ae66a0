import type { IdempotencyGauges } from '../../src/observe/metrics/write-metrics.ts';

/** The records of a gateway that has had no write with an idempotency key. */
export const noKeys: IdempotencyGauges = {
  inProgress: 0,
  ambiguous: 0,
  stored: 0,
  bytes: 0,
  maxBytes: 0,
  isSaveFailing: false,
};
