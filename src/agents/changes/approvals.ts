import type { Credential } from '../../auth/credential.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { fingerprintsOf } from '../../graph/keyed/fingerprint.ts';
import { keyScopeOf } from '../../graph/keyed/keyed-fields.ts';
import type { AgentGraph, AgentOperation } from '../agent-graph.ts';
import { ToolError } from '../tool-error.ts';
import type { ChangeKeys, ChangeSubject } from './change-keys.ts';
import {
  type ChangedField,
  changedFields,
  isAlwaysConfirmed,
  returnsSecret,
} from './changed-fields.ts';
import type { Confirmations } from './confirmations.ts';
import { effectsOf, type NameOfObject } from './effects.ts';

/** Which changes agents may make: none, those that a person has confirmed, or all but those that always need that. */
export type ChangesAllowed = 'off' | 'confirm' | 'free';

/** A change that an agent wants to make. */
export interface WantedChange {
  readonly subject: ChangeSubject;
  readonly fields: readonly ChangedField[];
  readonly needsConfirmation: boolean;
}

interface ApprovalOptions {
  readonly allowed: ChangesAllowed;
  readonly graph: Pick<AgentGraph, 'schema'>;
  readonly confirmations: Confirmations;
  readonly keys: ChangeKeys;
  /** The key of the link-management API that a caller uses. */
  readonly credentialOf: (viewer: Viewer) => Credential;
  /** The name of an object as one caller may see it, if it is cached. */
  readonly nameOf: (viewer: Viewer) => NameOfObject;
}

/** Which changes agents may make, what a person is told about them, and under which keys they are made. */
export class Approvals {
  readonly #options: ApprovalOptions;

  constructor(options: ApprovalOptions) {
    this.#options = options;
  }

  /** A mutation as a change. @throws ToolError `CHANGES_DISABLED` */
  async want(viewer: Viewer, operation: AgentOperation): Promise<WantedChange> {
    const { allowed, graph } = this.#options;
    if (allowed === 'off') {
      throw new ToolError(
        'CHANGES_DISABLED',
        'Agents cannot change anything here. The operator can allow it with MCP_CHANGES.',
      );
    }
    const fields = changedFields(graph.schema, operation);
    const { text, variables } = operation;
    const subject = await this.#subjectOf(viewer, [text, variables]);
    const needsConfirmation = allowed === 'confirm' || fields.some(isAlwaysConfirmed);
    return { subject, fields, needsConfirmation };
  }

  /** The idempotency key of something that is no change, and must not be started twice if its call is sent again. */
  async keyOfStart(viewer: Viewer, content: unknown): Promise<string> {
    return this.#options.keys.keyOf(await this.#subjectOf(viewer, content));
  }

  /** What a change does, for a person: a line for each field. */
  effects(viewer: Viewer, { fields }: WantedChange): Promise<string[]> {
    return effectsOf(fields, this.#options.nameOf(viewer));
  }

  /** A confirmation for a change whose effects are shown with it. */
  confirmationOf({ subject }: WantedChange): string {
    return this.#options.confirmations.issue(subject);
  }

  /**
   * The idempotency key under which a change is made: that of the agent or a derived one, and `null` for one whose result
   * is a secret. With a confirmation, that is used for this key.
   * @throws ToolError `CONFIRMATION_INVALID`
   */
  async keyOf(
    { fields, subject }: WantedChange,
    sent: { readonly key: string | undefined; readonly confirmation: string | undefined },
  ): Promise<string | null> {
    const { confirmations, keys } = this.#options;
    const isSecret = fields.some(returnsSecret);
    const key = isSecret ? null : (sent.key ?? (await keys.keyOf(subject)));
    if (sent.confirmation === undefined) return key;
    // Without a key, even the same call must not be executed again.
    const purpose = key ?? crypto.randomUUID();
    await confirmations.redeem(sent.confirmation, subject, purpose);
    return key;
  }

  async #subjectOf(viewer: Viewer, content: unknown): Promise<ChangeSubject> {
    const scope = keyScopeOf(viewer);
    const fingerprints = fingerprintsOf(this.#options.credentialOf(viewer));
    const { digest } = await fingerprints.of('agents', [scope, content], viewer.name);
    return { scope, digest };
  }
}
