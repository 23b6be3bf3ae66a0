import type { ResultOf } from 'gql.tada';
import type { Overview } from '../graph/documents.ts';
import type { PatientQuery } from '../graph/use-patient-query.ts';
import { date } from '../parts/format.ts';
import { LiveBadge } from '../parts/live-badge.tsx';
import { Panel, Skeleton, Trouble } from '../parts/panel.tsx';

const plans = { ADMIN: 'Administrator', FREE: 'Free plan', PRO: 'Paid plan' } as const;

/** Whose dashboard this is. Comes with the overview. */
export function AccountPanel({ overview }: { overview: PatientQuery<ResultOf<typeof Overview>> }) {
  const account = overview.data?.account;
  const name = account?.username ?? 'Account';
  return (
    <Panel
      title="Account"
      name="account"
      receipt={overview.receipt}
      aside={<LiveBadge state={overview.state} />}
    >
      {overview.loading && <Skeleton rows={1} what="the account" />}
      {!account && <Trouble query={overview} />}
      {account && (
        <div className="account">
          <span className="initial" aria-hidden="true">
            {name.slice(0, 1).toUpperCase()}
          </span>
          <div>
            <p className="strong">{name}</p>
            <p className="muted">{account.email ?? 'No email address'}</p>
          </div>
          <dl>
            <div>
              <dt>Plan</dt>
              <dd>{account.status ? plans[account.status] : '–'}</dd>
            </div>
            <div>
              <dt>Since</dt>
              <dd>{date(account.registeredAt)}</dd>
            </div>
          </dl>
        </div>
      )}
    </Panel>
  );
}
