import type { VariablesOf } from 'gql.tada';
import { useCallback, useEffect, useState } from 'react';
import { QrCodes } from '../graph/documents.ts';
import { usePatientQuery } from '../graph/use-patient-query.ts';
import { count } from '../parts/format.ts';
import { Pager } from '../parts/pager.tsx';
import { Panel, Skeleton, Trouble } from '../parts/panel.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { SortHeader } from '../parts/sort-header.tsx';
import { useTableState } from '../parts/use-table-state.ts';
import { QrRow } from './qr-row.tsx';

/** Rows of a page. */
const PAGE = 6;

type Order = NonNullable<VariablesOf<typeof QrCodes>['orderBy']>;

/** The fields to sort by, by the names of columns in the address of the page. */
const fields = new Map<string, Order['field']>([
  ['name', 'NAME'],
  ['created', 'CREATED_AT'],
  ['scans', 'SCANS'],
]);

function orderOf(sort: string): Order | null {
  const field = fields.get(sort.replace(/^-/, ''));
  return field ? { field, direction: sort.startsWith('-') ? 'DESC' : 'ASC' } : null;
}

/** "13 to 18 of 70". */
function rangeOf(offset: number, rows: number, total: number | null): string {
  return rows === 0
    ? ''
    : `${offset + 1} to ${offset + rows}${total === null ? '' : ` of ${count(total)}`}`;
}

/** A table of the QR codes: one operation searches, sorts and shows any page. Its costs are those of `QrCodes`. */
export function QrPanel() {
  const [{ search, sort, page }, change] = useTableState();
  const [open, setOpen] = useState<string | null>(null);
  const wanted = search.trim();
  const offset = (page - 1) * PAGE;
  const query = usePatientQuery(QrCodes, {
    first: PAGE,
    offset,
    search: wanted || null,
    orderBy: orderOf(sort),
  });
  const { data, fetching } = query;
  const codes = data?.qrCodes;
  const nodes = codes?.nodes ?? [];
  const total = codes?.totalCount ?? null;
  // Without a total, a page that is full has a next one.
  const pages = total === null ? page + Number(nodes.length === PAGE) : Math.ceil(total / PAGE);
  const isPastEnd = codes != null && !fetching && nodes.length === 0 && page > 1;
  useEffect(() => {
    if (isPastEnd) change({ page: Math.max(1, total === null ? page - 1 : pages) }, 'replaceState');
  }, [isPastEnd, change, total, page, pages]);

  const onSearch = useCallback(
    (text: string) => change({ search: text }, 'replaceState'),
    [change],
  );
  const head = { sort, onSort: (next: string) => change({ sort: next }) };
  return (
    <Panel
      title="QR codes"
      name="qr"
      receipt={query.receipt}
      aside={total !== null && <span className="muted">{count(total)}</span>}
    >
      <SearchField label="Search" value={search} onSearch={onSearch} />
      <div className="scroll" tabIndex={0} role="group" aria-label="QR codes">
        <table aria-busy={fetching}>
          <thead>
            <tr>
              <SortHeader {...head} label="Name" name="name" />
              <SortHeader {...head} label="Created" name="created" descends className="number" />
              <SortHeader {...head} label="Scans" name="scans" descends className="number" />
            </tr>
          </thead>
          <tbody>
            {nodes.map((code) => (
              <QrRow
                key={code.id}
                code={code}
                open={code.id === open}
                onToggle={() => setOpen(code.id === open ? null : code.id)}
              />
            ))}
          </tbody>
        </table>
        {query.loading && <Skeleton rows={PAGE} what="QR codes" />}
        <Trouble query={query} />
        {codes && nodes.length === 0 && !fetching && (
          <p className="empty">{wanted ? `No QR codes match “${wanted}”.` : 'No QR codes yet.'}</p>
        )}
      </div>
      <div className="below">
        <p className="muted" role="status">
          {!fetching && rangeOf(offset, nodes.length, total)}
        </p>
        <Pager
          label="Pages of QR codes"
          page={page}
          pages={pages}
          onPage={(to) => change({ page: to })}
        />
      </div>
    </Panel>
  );
}
