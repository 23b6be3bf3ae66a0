import type { ResultOf } from 'gql.tada';
import { type FormEvent, useState } from 'react';
import { PurchaseCheck } from '../graph/documents.ts';
import { usePatientQuery } from '../graph/use-patient-query.ts';
import { Field, textOf } from '../parts/field.tsx';
import { date, money } from '../parts/format.ts';
import { Panel, Skeleton, Trouble } from '../parts/panel.tsx';

/** One that the sandbox knows. */
const SAMPLE = '7c0e2f64-3b1d-4c57-9a6e-51f0d2b8e913';
const FORM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

type Purchase = NonNullable<ResultOf<typeof PurchaseCheck>['purchase']>;

function Facts({ purchase }: { purchase: Purchase }) {
  const {
    item,
    licenseType,
    price,
    currency,
    createdAt: bought,
    supportedUntil,
    downloaded,
  } = purchase;
  const over = supportedUntil !== null && Date.parse(supportedUntil) < Date.now();
  return (
    <div className="facts">
      <p className="verdict good">Valid</p>
      <p className="strong">{item?.name ?? 'Untitled'}</p>
      <p className="muted">
        {[item?.category, item?.version && `version ${item.version}`].filter(Boolean).join(', ')}
      </p>
      <dl>
        <div>
          <dt>License</dt>
          <dd>{licenseType ?? '–'}</dd>
        </div>
        <div>
          <dt>Paid</dt>
          <dd>{money(price, currency)}</dd>
        </div>
        <div>
          <dt>Bought</dt>
          <dd>{date(bought)}</dd>
        </div>
        <div>
          <dt>{over ? 'Support ended' : 'Support until'}</dt>
          <dd>{supportedUntil ? date(supportedUntil) : 'none'}</dd>
        </div>
        <div>
          <dt>Downloaded</dt>
          <dd>{downloaded === null ? '–' : downloaded ? 'yes' : 'not yet'}</dd>
        </div>
      </dl>
    </div>
  );
}

/** Says whether a code is good, and for what. 1 call to the marketplace for each code; none for what is no code. */
export function PurchasePanel() {
  const [code, setCode] = useState('');
  const [fault, setFault] = useState<string>();
  const query = usePatientQuery(PurchaseCheck, { code }, { pause: code === '' });

  function check(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const text = textOf(event.currentTarget, 'code').trim();
    const good = FORM.test(text);
    setFault(good ? undefined : 'A code has five groups of letters and digits, joined by hyphens.');
    setCode(good ? text : '');
  }

  const asked = code !== '';
  return (
    <Panel title="Purchase check" name="purchase" receipt={asked ? query.receipt : undefined}>
      <form noValidate onSubmit={check} aria-label="Purchase check">
        <Field
          label="Purchase code"
          name="code"
          autoComplete="off"
          spellCheck={false}
          placeholder={SAMPLE}
          hint="The code in the placeholder is valid in the sandbox."
          fault={fault}
        />
        <button type="submit">Check</button>
      </form>
      <div aria-live="polite">
        {asked && query.loading && <Skeleton rows={3} what="the purchase" />}
        {asked && query.data?.purchase && <Facts purchase={query.data.purchase} />}
        {asked && query.data?.purchase === null && query.errors.length === 0 && !query.retry && (
          <p className="verdict bad">This code is not valid.</p>
        )}
      </div>
      {asked && <Trouble query={query} />}
    </Panel>
  );
}
