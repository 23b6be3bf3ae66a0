/** A key of an upstream, and the name of the partition that its cache entries and budget are in. */
export interface Credential {
  /** Says nothing about the key itself. */
  readonly partition: string;
  /** The key as the upstream wants it. */
  readonly secret: string;
  /** True for a caller's own key: whether it may read anything at all is the upstream's to say. */
  readonly ofCaller?: boolean;
}
