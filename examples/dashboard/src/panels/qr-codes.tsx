import type { ResultOf } from 'gql.tada';
import { memo, type UIEvent, useCallback, useEffect, useState } from 'react';
import { QrCodes } from '../graph/documents.ts';
import type { DatedReceipt } from '../graph/use-patient-query.ts';
import { usePatientQuery } from '../graph/use-patient-query.ts';
import { BarChart } from '../parts/bar-chart.tsx';
import { Countdown } from '../parts/countdown.tsx';
import { count, date } from '../parts/format.ts';
import { Failure, Panel, Skeleton } from '../parts/panel.tsx';

/** Rows of a page: each costs a call for its statistics, so few. */
const PAGE = 6;

/** How close to the end of the list the next page is asked for. */
const NEAR_END_PX = 80;

type Connection = NonNullable<ResultOf<typeof QrCodes>['qrCodes']>;

interface PageProps {
  readonly after: string | null;
  /** Called with each answer of the page. */
  readonly onAnswer: (after: string | null, connection: Connection) => void;
  readonly onReceipt: (after: string | null, receipt: DatedReceipt) => void;
}

function Statistic({ value, coming }: { value: string | null; coming: boolean }) {
  if (value !== null) return value;
  return coming ? <span className="pulse" role="img" aria-label="loading" /> : '–';
}

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

/** One window of the list: its rows at once, who scanned them as it comes. */
const Page = memo(function Page({ after, onAnswer, onReceipt }: PageProps) {
  const query = usePatientQuery(QrCodes, { first: PAGE, after });
  const connection = query.data?.qrCodes;
  useEffect(() => {
    if (connection) onAnswer(after, connection);
  }, [after, connection, onAnswer]);
  useEffect(() => {
    if (query.receipt) onReceipt(after, query.receipt);
  }, [after, query.receipt, onReceipt]);
  const coming = query.hasNext || query.retry !== null;
  return (
    <tbody>
      {connection?.nodes.map((code) => {
        const { id, link, name, date: made, scans } = code;
        // Not there until its part has come; null when it could not be read yet.
        const statistics = 'statistics' in code ? code.statistics : null;
        const top = statistics?.topCountries[0];
        return (
          <tr key={id}>
            <th scope="row">
              <div className="code">
                <Picture url={link} />
                <div>
                  <span className="strong">{name ?? 'Untitled'}</span>
                  <span className="muted block">{date(made)}</span>
                </div>
              </div>
            </th>
            <td className="number">{count(scans)}</td>
            <td className="number">
              <Statistic
                value={statistics ? count(statistics.uniqueClicks) : null}
                coming={coming}
              />
            </td>
            <td className="wide">
              <Statistic
                value={top ? `${top.label} (${count(top.count)})` : null}
                coming={coming}
              />
            </td>
          </tr>
        );
      })}
      {query.loading && (
        <tr>
          <td colSpan={4}>
            <Skeleton rows={after ? 2 : PAGE} what="QR codes" />
          </td>
        </tr>
      )}
      {(query.retry ?? query.errors.length > 0) && (
        <tr>
          <td colSpan={4}>
            {query.retry ? (
              <Countdown
                retry={query.retry}
                then={connection ? 'The statistics follow automatically.' : undefined}
              />
            ) : (
              <Failure errors={query.errors} again={query.again} />
            )}
          </td>
        </tr>
      )}
    </tbody>
  );
});

/** All QR codes, page after page as one scrolls. 1 upstream call for 100 of them, and 1 for the statistics of each. */
export function QrPanel() {
  const [pages, setPages] = useState<readonly (string | null)[]>([null]);
  const [answers, setAnswers] = useState<ReadonlyMap<string | null, Connection>>(new Map());
  const [receipt, setReceipt] = useState<DatedReceipt | null>(null);
  const lastPage = pages.at(-1);

  const onAnswer = useCallback((after: string | null, connection: Connection) => {
    setAnswers((all) => new Map(all).set(after, connection));
  }, []);
  const onReceipt = useCallback(
    (after: string | null, next: DatedReceipt) => {
      if (after === lastPage) setReceipt(next);
    },
    [lastPage],
  );
  const last = answers.get(lastPage ?? null);
  const next = last?.pageInfo.hasNextPage ? last.pageInfo.endCursor : null;
  const more = useCallback(() => {
    if (next) setPages((all) => (all.includes(next) ? all : [...all, next]));
  }, [next]);
  // Not by what is in sight, but by what somebody does: a page costs calls.
  const onScroll = ({ currentTarget: box }: UIEvent<HTMLElement>): void => {
    if (box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END_PX) more();
  };

  const total = answers.get(null)?.totalCount;
  const bars = [...answers.values()].flatMap(({ nodes }) =>
    nodes.map(({ id, name, scans }) => ({ id, label: name ?? 'Untitled', value: scans ?? 0 })),
  );
  return (
    <Panel
      title="QR codes"
      name="qr"
      receipt={receipt}
      aside={total != null && <span className="muted">{count(total)}</span>}
    >
      {total === 0 ? (
        <p className="empty">No QR codes yet.</p>
      ) : (
        <BarChart title="Scans" bars={bars} />
      )}
      <div
        className="scroll"
        onScroll={onScroll}
        tabIndex={0}
        role="group"
        aria-label="QR codes; more load as you scroll"
      >
        <table>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col" className="number">
                Scans
              </th>
              <th scope="col" className="number">
                People
              </th>
              <th scope="col" className="wide">
                Top country
              </th>
            </tr>
          </thead>
          {pages.map((after) => (
            <Page key={after ?? ''} after={after} onAnswer={onAnswer} onReceipt={onReceipt} />
          ))}
        </table>
        <div className="end">
          {next && (
            <button type="button" className="quiet" onClick={more}>
              Show more
            </button>
          )}
        </div>
      </div>
    </Panel>
  );
}
