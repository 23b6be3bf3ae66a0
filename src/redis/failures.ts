/** Redis is not available. `doubtful`: the command was sent without a reply, and may have been executed. */
export class RedisUnavailable extends Error {
  override readonly name = 'RedisUnavailable';
  readonly doubtful: boolean;

  constructor(reason: string, doubtful: boolean) {
    super(reason);
    this.doubtful = doubtful;
  }
}

/** Redis replied with an error and has not executed the command; the message is its own. */
export class RedisRefused extends Error {
  override readonly name = 'RedisRefused';
}
