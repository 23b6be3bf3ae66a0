import type { ResultOf } from 'gql.tada';
import { useId, useState } from 'react';
import { type QrCodes, QrDetails } from '../graph/documents.ts';
import { usePatientQuery } from '../graph/use-patient-query.ts';
import { count, date, moment } from '../parts/format.ts';
import { HistoryChart } from '../parts/history-chart.tsx';
import { ReceiptLine, Trouble } from '../parts/panel.tsx';

type QrCode = NonNullable<ResultOf<typeof QrCodes>['qrCodes']>['nodes'][number];

/** The code itself, or an empty square where there is none to be had. */
function Picture({ url }: { url: string | null }) {
  return (
    <span className="picture">
      {url && (
        <img
          src={url}
          alt=""
          width="40"
          height="40"
          loading="lazy"
          onError={({ currentTarget }) => {
            currentTarget.hidden = true;
          }}
        />
      )}
    </span>
  );
}

const spans = [
  { name: 'days', label: '30 days', format: date },
  { name: 'hours', label: '24 hours', format: moment },
] as const;

/** How often a code was scanned over time, and by whom, which comes after the rest. */
function Details({ id }: { id: string }) {
  const query = usePatientQuery(QrDetails, { id });
  const [span, setSpan] = useState<(typeof spans)[number]>(spans[0]);
  const code = query.data?.qrCode;
  // Not there until its part has come; null when it could not be read yet.
  const statistics = code && 'statistics' in code ? code.statistics : null;
  const coming = query.loading || query.hasNext || query.retry !== null;
  const steps = code?.[span.name];
  const top = statistics?.topCountries[0];
  const facts = [
    ['Clicks', statistics && count(statistics.clicks)],
    ['People', statistics && count(statistics.uniqueClicks)],
    ['Top country', top && `${top.label} (${count(top.count)})`],
  ];
  return (
    <>
      <fieldset>
        <legend className="visually-hidden">Time</legend>
        {spans.map((each) => (
          <label key={each.name} className="check">
            <input
              type="radio"
              name="span"
              checked={span === each}
              onChange={() => setSpan(each)}
            />{' '}
            {each.label}
          </label>
        ))}
      </fieldset>
      {steps && (
        <HistoryChart
          title={`Scans, ${span.label}`}
          steps={steps}
          format={span.format}
          read="read of the QR codes"
        />
      )}
      <dl>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {value ?? (coming ? <span className="pulse" role="img" aria-label="loading" /> : '–')}
            </dd>
          </div>
        ))}
      </dl>
      <Trouble query={query} />
      <ReceiptLine receipt={query.receipt} />
    </>
  );
}

interface QrRowProps {
  readonly code: QrCode;
  readonly open: boolean;
  readonly onToggle: () => void;
}

/** A QR code, and below it its details if it is open. 1 upstream call when it is opened. */
export function QrRow({
  code: { id, name, createdAt: made, scans, link },
  open,
  onToggle,
}: QrRowProps) {
  const region = useId();
  return (
    <>
      <tr>
        <th scope="row">
          <button
            type="button"
            className="row"
            aria-expanded={open}
            aria-controls={open ? region : undefined}
            onClick={onToggle}
          >
            <Picture url={link} />
            <span className="grow strong">{name ?? 'Untitled'}</span>
            <span className="chevron" aria-hidden="true" />
          </button>
        </th>
        <td className="number">{date(made)}</td>
        <td className="number">{count(scans)}</td>
      </tr>
      {open && (
        <tr id={region} className="details">
          <td colSpan={3}>
            <Details id={id} />
          </td>
        </tr>
      )}
    </>
  );
}
