import type { VariablesOf } from 'gql.tada';
import type { PendingWrite } from 'links-market-client';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import type { CreateCampaign } from '../graph/documents.ts';
import type { CodedError } from '../graph/errors.ts';
import type { DatedReceipt, Receipt } from '../graph/use-patient-query.ts';
import { usePending, type Writes } from '../graph/writes.ts';
import { Field, textOf } from '../parts/field.tsx';
import { ReceiptLine } from '../parts/panel.tsx';
import { PendingLine } from '../parts/pending-line.tsx';

type Variables = VariablesOf<typeof CreateCampaign>;

/** What the gateway said to the form. */
interface Answer {
  /** Faults by the name of their field. */
  readonly faults: Readonly<Record<string, string>>;
  /** What is wrong with no field in particular. */
  readonly refusal: string | null;
  readonly made: string | null;
}

const nothing: Answer = { faults: {}, refusal: null, made: null };
const fields = ['name', 'slug'];

type Issues = readonly { readonly path: readonly string[]; readonly message: string }[];

/** Puts each issue at its field, by its path; what has no field here stands at the form. */
function sortIssues(issues: Issues): Answer {
  const faults: Record<string, string> = {};
  const others: string[] = [];
  for (const { path, message } of issues) {
    const field = path[1] ?? '';
    const sentence = `It ${message}`;
    if (!fields.includes(field)) others.push(`${path.join('.')} ${message}`);
    else faults[field] = faults[field] ? `${faults[field]} ${sentence}` : sentence;
  }
  return { ...nothing, faults, refusal: others.length > 0 ? others.join(' ') : null };
}

/** A rejection has no path: it stands at the field that it names. */
function sortRejection(message: string): Answer {
  const field = fields.find((name) => new RegExp(`\\b${name}\\b`, 'i').test(message));
  return field ? { ...nothing, faults: { [field]: message } } : { ...nothing, refusal: message };
}

/**
 * Makes a campaign, once: a second press, a lost answer and a reload do not make another. What is wrong stands at
 * its field. 1 upstream call; none for wrong input.
 */
export function CampaignForm({ writes }: { writes: Writes }) {
  const form = useRef<HTMLFormElement>(null);
  const pending = usePending(writes, 'CreateCampaign');
  const [answer, setAnswer] = useState(nothing);
  const [receipt, setReceipt] = useState<DatedReceipt | null>(null);
  const busy = pending.some(({ state }) => state !== 'stopped' && state !== 'expired');

  async function send(variables: Variables): Promise<void> {
    setAnswer(nothing);
    const { data, errors, extensions } = await writes.createCampaign(variables);
    const told = extensions?.['upstream'] as Receipt | undefined;
    const result = data?.createCampaign;
    setReceipt(told && result ? { receipt: told, receivedAt: Date.now() } : null);
    if (result?.__typename === 'Campaign') {
      // What was written meanwhile stays.
      if (form.current && textOf(form.current, 'name') === variables.input.name)
        form.current.reset();
      setAnswer({ ...nothing, made: `Campaign “${result.name}” created. Its id is ${result.id}.` });
    } else if (result?.__typename === 'InvalidInput') {
      const sorted = sortIssues(result.issues);
      setAnswer(sorted);
      const first = fields.find((field) => sorted.faults[field]);
      if (first) form.current?.querySelector<HTMLInputElement>(`[name=${first}]`)?.focus();
    } else if (result?.__typename === 'Rejected') {
      setAnswer(sortRejection(result.message));
    } else {
      const [{ message } = { message: 'The campaign was not created.' }] = (errors ??
        []) as readonly CodedError[];
      setAnswer({ ...nothing, refusal: message });
    }
  }

  /** Sends a campaign. A rejection means that it was discarded or has expired: its line says so. */
  function start(variables: Variables): void {
    send(variables).catch(() => {});
  }

  function submit(event: FormEvent): void {
    event.preventDefault();
    if (!form.current || busy) return;
    const name = textOf(form.current, 'name');
    const slug = textOf(form.current, 'slug');
    const shown = textOf(form.current, 'public') !== '';
    start({ input: { name, public: shown, ...(slug && { slug }) } });
  }

  function discard({ isUnsure, key, state }: PendingWrite): void {
    writes.forget(key);
    if (isUnsure && state !== 'expired')
      setAnswer({ ...nothing, refusal: 'The campaign may have been created.' });
  }

  // Continues what the page before has left, and shows it, so that it can be corrected.
  useEffect(() => {
    for (const { state, variables } of writes.of('CreateCampaign')) {
      if (state !== 'stopped') continue;
      const { input } = variables as Variables;
      for (const field of form.current?.querySelectorAll('input') ?? []) {
        if (field.type === 'checkbox') field.checked = input.public === true;
        else field.value = input[field.name as 'name' | 'slug'] ?? '';
      }
      start(variables as Variables);
    }
  }, [writes]);

  return (
    <form ref={form} noValidate onSubmit={submit} aria-label="New campaign">
      <Field label="Name" name="name" autoComplete="off" fault={answer.faults['name']} />
      <Field
        label="Slug"
        name="slug"
        autoComplete="off"
        spellCheck={false}
        placeholder="winter-sale"
        hint="Last part of the rotator’s URL. Without a slug there is no rotator."
        fault={answer.faults['slug']}
      />
      <label className="check">
        <input type="checkbox" name="public" /> Public list
      </label>
      {answer.refusal && (
        <p className="notice notice-bad" role="alert">
          {answer.refusal}
        </p>
      )}
      {pending.map((write) => (
        <PendingLine
          key={write.key}
          write={write}
          done="the campaign was created"
          discard={() => discard(write)}
        />
      ))}
      <button type="submit" disabled={busy}>
        {busy ? 'Saving…' : 'Create campaign'}
      </button>
      <p className="done" role="status">
        {answer.made}
      </p>
      <ReceiptLine receipt={receipt} />
    </form>
  );
}
