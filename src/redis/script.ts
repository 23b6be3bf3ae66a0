import { createHash } from 'node:crypto';

/** A script as it is run: by its digest, and as a whole where Redis does not have it. */
export interface Script {
  /** What it is called in metrics. */
  readonly name: string;
  readonly sha1: string;
  readonly lua: string;
}

/** A script by its text. */
export function script(name: string, lua: string): Script {
  // Redis names scripts by this digest; nothing is kept secret by it.
  return { name, sha1: createHash('sha1').update(lua).digest('hex'), lua };
}
