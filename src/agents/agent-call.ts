import type { Viewer } from '../auth/viewer.ts';
import type { Admission } from '../http/door/admission.ts';

/** One request of an agent to `/mcp`, as the door has admitted it. */
export interface AgentCall {
  readonly admission: Admission;
  /** The caller, in the class of agents. */
  readonly viewer: Viewer;
  readonly requestId: string;
  /** Aborts when the agent has hung up. */
  readonly signal: AbortSignal;
}
