/** A key of an upstream, and the name under which its answers and its budget are kept apart. */
export interface Credential {
  /** Says nothing about the key itself. */
  readonly partition: string;
  /** The key as the upstream wants it. */
  readonly secret: string;
}
