// Says what schema.graphql changes for clients since the last tag, or since what is given as an argument. It is for
// the author of a version's notes, and stops nothing: it never fails.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { CriticalityLevel, DiffRule, diff } from '@graphql-inspector/core';
import { buildSchema } from 'graphql';

const FILE = 'schema.graphql';
const { Breaking, Dangerous, NonBreaking } = CriticalityLevel;

/** In the order in which a reader wants them. */
const kinds = [
  { level: Breaking, title: 'breaking: clients can stop working' },
  { level: Dangerous, title: 'dangerous: clients meet what they may not be made for' },
  { level: NonBreaking, title: 'safe' },
];

/**
 * What it means to clients when one of these comes to an element, and when it goes.
 * @type {Readonly<Record<string, { comes: CriticalityLevel, goes: CriticalityLevel }>>}
 */
const directives = {
  // A guarantee: without it, there is null without an error.
  semanticNonNull: { comes: NonBreaking, goes: Breaking },
  oneOf: { comes: Breaking, goes: NonBreaking },
  specifiedBy: { comes: NonBreaking, goes: NonBreaking },
};

const since = process.argv[2] ?? lastTag();
if (since !== undefined) say(await changesSince(since));

/** The last tag of a version before the checked-out commit, or of it. If there is none, the reason. */
function lastTag() {
  const tag = git('describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*');
  if (tag !== undefined) return tag.trim();
  const shallow = git('rev-parse', '--is-shallow-repository')?.trim();
  if (shallow === undefined) say(['not compared: this is no git repository']);
  else if (shallow === 'true') {
    say(['not compared: this clone ends before the last tag; git fetch --unshallow --tags']);
  } else say(['not compared: there is no tag yet']);
  return undefined;
}

/** @param {string} since */
async function changesSince(since) {
  const before = git('show', `${since}:./${FILE}`);
  if (before === undefined) return [`not compared: ${since} has no ${FILE}`];
  const [old, now] = [schemaIn(before), schemaIn(readFileSync(FILE, 'utf8'))];
  if (!old) return [`not compared: ${FILE} of ${since} is no schema`];
  if (!now) return [`not compared: ${FILE} is no schema`];
  // Texts may change in any version.
  const rules = [DiffRule.ignoreDescriptionChanges, onlyNews, byPromise];
  const changes = await diff(old, now, rules);
  if (changes.length === 0) return [`nothing changes since ${since}`];
  const sections = kinds.flatMap(({ level, title }) => {
    const some = changes.filter(({ criticality }) => criticality.level === level);
    const lines = some.map(({ message }) => `  - ${message}`);
    return some.length === 0 ? [] : [`${title} (${some.length})`, ...lines];
  });
  return [`changes since ${since}`, ...sections];
}

/** @param {string} text */
function schemaIn(text) {
  try {
    return buildSchema(text);
  } catch {
    return undefined;
  }
}

/**
 * Leaves out what is within something new: no client has met that. And that a field is deprecated is said once.
 * @param {{ readonly changes: readonly import('@graphql-inspector/core').Change[] }} found
 */
function onlyNews({ changes }) {
  const added = changes.filter(({ type }) => /^(TYPE|FIELD|INPUT_FIELD)_ADDED$/.test(type));
  return changes.filter((change) => {
    const { path = '', type } = change;
    const isWithin = added.some(
      (whole) => whole !== change && `${path}.`.startsWith(`${whole.path}.`),
    );
    return !isWithin && !(type.startsWith('DIRECTIVE_USAGE_') && path.includes('.@deprecated'));
  });
}

/**
 * Judges by what this graph promises: its directives, and that an argument which is left out means what it meant.
 * @param {{ readonly changes: readonly import('@graphql-inspector/core').Change[] }} found
 */
function byPromise({ changes }) {
  return changes.map((change) => {
    const { addedDirectiveName: added, removedDirectiveName: removed } = change.meta;
    const { level: found } = change.criticality;
    const isOptional = change.type === 'FIELD_ARGUMENT_ADDED' && found !== Breaking;
    const level =
      directives[added]?.comes ?? directives[removed]?.goes ?? (isOptional ? NonBreaking : found);
    return { ...change, criticality: { level } };
  });
}

/** @param {readonly string[]} lines */
function say([first, ...rest]) {
  process.stdout.write(`${[`schema: ${first}`, ...rest].join('\n')}\n`);
}

/**
 * The output of git; undefined if it fails.
 * @param {readonly string[]} args
 */
function git(...args) {
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
}
