import type { Revision } from './suite.ts';

/** What of the suite does not pass in each revision: scenarios, or single checks as `scenario:check`. */
type Lacking = Readonly<Record<Revision, readonly string[]>>;

/** Questions of a server to its client, and sessions, of which there are none. */
const SESSIONS = [
  'tools-call-sampling',
  'tools-call-elicitation',
  'elicitation-sep1034-defaults',
  'elicitation-sep1330-enums',
  // Its other checks send the id of a session.
  'server-sse-multiple-streams:server-sse-multiple-streams-session',
  // Streams that a client resumes: pending, not required.
  'server-sse-polling',
];

/** The notifications of lists that never change: the suite skips their checks. */
const CHANGES = [
  'server-stateless:sep-2575-server-sends-prompts-list-changed-on-subscription',
  'server-stateless:sep-2575-server-sends-tools-list-changed-on-subscription',
];

/** An extension of the protocol, not required: the graph has jobs of its own. */
const TASKS = [
  'tasks-capability-negotiation',
  'tasks-dispatch-and-envelope',
  'tasks-lifecycle',
  'tasks-mrtr-composition',
  'tasks-mrtr-input',
  'tasks-request-headers',
  'tasks-request-state-removal',
  'tasks-required-task-error',
  'tasks-status-notifications',
  'tasks-wire-fields',
];

/** The features that the gateway does not have, and the tools that only the suite knows, in both revisions. */
const FEATURES = [
  'completion-complete',
  'prompts-list',
  'prompts-get-simple',
  'prompts-get-with-args',
  'prompts-get-embedded-resource',
  'prompts-get-with-image',
  'resources-list',
  'resources-read-text',
  'resources-read-binary',
  'resources-templates-read',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-error',
  'tools-call-with-progress',
  'json-schema-2020-12',
];

/** What the gateway lacks, which offers tools only, and those of the graph. */
export const gatewayLacks: Lacking = {
  '2025-11-25': [
    ...SESSIONS,
    ...FEATURES,
    'logging-set-level',
    'tools-call-with-logging',
    'resources-subscribe',
    'resources-unsubscribe',
  ],
  '2026-07-28': [
    ...CHANGES,
    ...TASKS,
    ...FEATURES,
    'caching:sep-2549-prompts-list-caching-hints',
    'caching:sep-2549-resources-list-caching-hints',
    'caching:sep-2549-resources-templates-list-caching-hints',
    'caching:sep-2549-resources-read-caching-hints',
    'http-custom-header-server-validation',
    'input-required-result-basic-elicitation',
    'input-required-result-basic-sampling',
    'input-required-result-basic-list-roots',
    'input-required-result-request-state',
    'input-required-result-multiple-input-requests',
    'input-required-result-multi-round',
    'input-required-result-missing-input-response',
    'input-required-result-non-tool-request',
    'input-required-result-result-type',
    'input-required-result-tampered-state',
    'input-required-result-capability-check',
    'input-required-result-ignore-extra-params',
    // Without resources, the method is unknown, and not its argument.
    'sep-2164-resource-not-found:sep-2164-error-code',
    'sep-2164-resource-not-found:sep-2164-data-uri',
    // They call tools that only the suite knows.
    'server-stateless:sep-2575-server-rejects-undeclared-capability',
    'server-stateless:sep-2575-missing-capability-http-400',
    'server-stateless:sep-2575-http-server-no-independent-requests-on-stream',
    'server-stateless:sep-2575-server-no-log-without-loglevel',
  ],
};
