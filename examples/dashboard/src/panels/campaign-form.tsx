import { type FormEvent, useRef, useState } from 'react';
import { useMutation } from 'urql';
import { CreateCampaign } from '../graph/documents.ts';
import { errorsOf } from '../graph/errors.ts';
import type { DatedReceipt, Receipt } from '../graph/use-patient-query.ts';
import { Field, textOf } from '../parts/field.tsx';
import { ReceiptLine } from '../parts/panel.tsx';

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

/** Makes a campaign. What is wrong stands where it is to be mended. 1 upstream call; none for wrong input. */
export function CampaignForm() {
  const form = useRef<HTMLFormElement>(null);
  const [{ fetching }, create] = useMutation(CreateCampaign);
  const [answer, setAnswer] = useState(nothing);
  const [receipt, setReceipt] = useState<DatedReceipt | null>(null);

  async function send(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (!form.current || fetching) return;
    const name = textOf(form.current, 'name');
    const slug = textOf(form.current, 'slug');
    const shown = textOf(form.current, 'public') !== '';
    setAnswer(nothing);
    const { data, error, extensions } = await create({
      input: { name, public: shown, ...(slug && { slug }) },
    });
    const told = extensions?.['upstream'] as Receipt | undefined;
    const result = data?.createCampaign;
    setReceipt(told && result ? { receipt: told, receivedAt: Date.now() } : null);
    if (result?.__typename === 'Campaign') {
      form.current?.reset();
      setAnswer({ ...nothing, made: `Campaign “${result.name}” created.` });
    } else if (result?.__typename === 'InvalidInput') {
      const sorted = sortIssues(result.issues);
      setAnswer(sorted);
      const first = fields.find((field) => sorted.faults[field]);
      if (first) form.current?.querySelector<HTMLInputElement>(`[name=${first}]`)?.focus();
    } else if (result?.__typename === 'Rejected') {
      setAnswer(sortRejection(result.message));
    } else {
      const [{ message } = { message: 'The campaign was not created.' }] = errorsOf(error);
      setAnswer({ ...nothing, refusal: message });
    }
  }

  return (
    <form ref={form} noValidate onSubmit={(event) => void send(event)} aria-label="New campaign">
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
      <button type="submit" disabled={fetching}>
        {fetching ? 'Saving…' : 'Create campaign'}
      </button>
      <p className="done" role="status">
        {answer.made}
      </p>
      <ReceiptLine receipt={receipt} />
    </form>
  );
}
