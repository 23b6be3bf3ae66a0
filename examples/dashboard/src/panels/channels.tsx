import type { ResultOf } from 'gql.tada';
import { useId, useState } from 'react';
import { ChannelItems, type Overview } from '../graph/documents.ts';
import { type PatientQuery, usePatientQuery } from '../graph/use-patient-query.ts';
import { count, date, plural } from '../parts/format.ts';
import { LiveBadge } from '../parts/live-badge.tsx';
import { Panel, ReceiptLine, Skeleton, Trouble } from '../parts/panel.tsx';

type OverviewData = ResultOf<typeof Overview>;
type Channel = NonNullable<OverviewData['channels']>['nodes'][number];

const kinds = { BioItem: 'Bio page', LinkItem: 'Link', QrItem: 'QR code' } as const;

function Items({ id }: { id: string }) {
  const query = usePatientQuery(ChannelItems, { id });
  const items = query.data?.channel?.items;
  const rest = (items?.totalCount ?? 0) - (items?.nodes.length ?? 0);
  return (
    <div className="items">
      {query.loading && <Skeleton rows={3} what="the items" />}
      <Trouble query={query} />
      {items && items.nodes.length === 0 && <p className="muted">No items yet.</p>}
      {items && items.nodes.length > 0 && (
        <ul>
          {items.nodes.map((item) => (
            <li key={item.id}>
              <span>{item.title ?? 'Untitled'}</span>
              <span className="muted">
                {kinds[item.__typename]}, {date(item.date)}
              </span>
            </li>
          ))}
        </ul>
      )}
      {rest > 0 && <p className="muted">and {plural(rest, 'more item')}</p>}
      <ReceiptLine receipt={query.receipt} />
    </div>
  );
}

interface RowProps {
  readonly channel: Channel;
  readonly open: boolean;
  readonly onToggle: () => void;
}

function Row({ channel: { id, name, color, description, starred }, open, onToggle }: RowProps) {
  const region = useId();
  return (
    <li>
      <h3>
        <button
          type="button"
          className="row"
          aria-expanded={open}
          aria-controls={open ? region : undefined}
          onClick={onToggle}
        >
          <span className="dot" style={{ background: color ?? undefined }} aria-hidden="true" />
          <span className="grow">
            <span className="strong">{name ?? 'Untitled'}</span>
            {starred && (
              <span className="star" role="img" aria-label="favorite">
                ★
              </span>
            )}
            <span className="muted block">{description}</span>
          </span>
          <span className="chevron" aria-hidden="true" />
        </button>
      </h3>
      {open && (
        <div id={region}>
          <Items id={id} />
        </div>
      )}
    </li>
  );
}

/** The channels, kept current; the items of the one that is open. 1 upstream call for each that is opened. */
export function ChannelsPanel({ overview }: { overview: PatientQuery<OverviewData> }) {
  const channels = overview.data?.channels;
  const [chosen, setChosen] = useState<string | null>();
  // The first is open until somebody chooses.
  const open = chosen === undefined ? channels?.nodes[0]?.id : chosen;
  return (
    <Panel
      title="Channels"
      name="channels"
      receipt={overview.receipt}
      aside={
        <>
          {channels && <span className="muted">{count(channels.totalCount)}</span>}
          <LiveBadge state={overview.state} />
        </>
      }
    >
      {overview.loading && <Skeleton rows={6} what="the channels" />}
      {!channels && <Trouble query={overview} />}
      {channels?.nodes.length === 0 && <p className="empty">No channels yet.</p>}
      {channels && channels.nodes.length > 0 && (
        <ul className="scroll rows" tabIndex={0} aria-label="Channels">
          {channels.nodes.map((channel) => (
            <Row
              key={channel.id}
              channel={channel}
              open={channel.id === open}
              onToggle={() => setChosen(channel.id === open ? null : channel.id)}
            />
          ))}
        </ul>
      )}
    </Panel>
  );
}
