/** What an upstream said about a successful write, beside its data. */
export interface WriteMessage {
  /** The path of the mutation field in the response. */
  readonly path: readonly string[];
  /** The upstream's own sentence, without addresses and secrets. */
  readonly message: string;
}

/** The messages of the writes of one operation. The fields of a mutation are executed one after the other. */
export class WriteMessages {
  readonly all: WriteMessage[] = [];
  #path: readonly string[] = [];

  /** A field of a mutation begins; the messages that follow are about it. */
  begin(path: readonly string[]): void {
    this.#path = path;
  }

  /** A write has succeeded; `message` is empty if the upstream sent none. */
  add(message: string): void {
    if (message !== '') this.all.push({ path: this.#path, message });
  }
}
