/** How the process ends: `0` after a clean stop, or a command that did its work. */
export const exitCode = {
  fault: 1,
  usage: 2,
  partial: 3,
} as const;

/** A command cannot do its work, for the reason that the message gives to its user. */
export class CommandError extends Error {
  /** What the process ends with. */
  readonly exitCode: number;

  constructor(message: string, options: ErrorOptions & { readonly exitCode?: number } = {}) {
    super(message, options);
    this.exitCode = options.exitCode ?? exitCode.fault;
  }
}

/** The command line does not say what to do. */
export class UsageError extends CommandError {}
