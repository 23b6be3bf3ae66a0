/**
 * There is no Redis to be had. `doubtful`: the command may have been carried out all the same, since it
 * was sent and nothing came back in time.
 */
export class RedisUnavailable extends Error {
  override readonly name = 'RedisUnavailable';
  readonly doubtful: boolean;

  constructor(reason: string, doubtful: boolean) {
    super(reason);
    this.doubtful = doubtful;
  }
}

/** Redis answered with an error, and so has not done what it was asked; the message is its own. */
export class RedisRefused extends Error {
  override readonly name = 'RedisRefused';
}
