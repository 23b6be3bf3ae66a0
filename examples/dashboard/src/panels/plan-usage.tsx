import type { ResultOf } from 'gql.tada';
import { Usage } from '../graph/documents.ts';
import { usePatientQuery } from '../graph/use-patient-query.ts';
import { count } from '../parts/format.ts';
import { Panel, Skeleton, Trouble } from '../parts/panel.tsx';

type Row = NonNullable<NonNullable<ResultOf<typeof Usage>['account']>['usage']>[number];

const names: Readonly<Record<Row['feature'], string>> = {
  LINKS: 'Links',
  CLICKS: 'Clicks',
  TEAM: 'Team members',
  SPLASH: 'Splash pages',
  OVERLAY: 'Overlays',
  PIXELS: 'Pixels',
  DOMAIN: 'Domains',
};

/** What to do where the usage may not be seen, by the code of the error. */
const remedies: Readonly<Record<string, string>> = {
  FORBIDDEN: 'Plan usage requires a token with the role admin.',
  UPSTREAM_FORBIDDEN: 'Plan usage requires the API key of an administrator.',
};

/** From here on the rest is small, as a share of the limit. */
const HIGH = 0.8;

function Feature({ row: { feature, used, limit, enabled } }: { row: Row }) {
  // Some installations write 0 for no limit.
  const most = limit || null;
  const text =
    enabled === false
      ? 'not included'
      : used === null
        ? most === null
          ? 'no limit'
          : `${count(most)} included`
        : `${count(used)} ${most === null ? 'used' : `of ${count(most)}`}`;
  return (
    <li>
      <p>
        <span>{names[feature] ?? feature}</span>
        <span className="spent">{text}</span>
      </p>
      {used !== null && most !== null && enabled !== false && (
        <meter
          aria-label={names[feature] ?? feature}
          aria-valuetext={text}
          min={0}
          max={most}
          high={most * HIGH}
          optimum={0}
          value={used}
        />
      )}
    </li>
  );
}

/** How much of each limit of the plan is used, or why that cannot be seen. Its costs are those of `Usage`. */
export function UsagePanel() {
  const query = usePatientQuery(Usage, {});
  const { plan, usage } = query.data?.account ?? {};
  const remedy = query.errors
    .map(({ extensions }) => remedies[String(extensions?.code)])
    .find((text) => text !== undefined);
  return (
    <Panel
      title="Plan usage"
      name="usage"
      receipt={query.receipt}
      aside={plan && <span className="muted">{plan.name}</span>}
    >
      {query.loading && <Skeleton rows={2} what="the plan usage" />}
      {remedy ? <p className="empty">{remedy}</p> : <Trouble query={query} />}
      {usage === null && query.errors.length === 0 && !query.retry && (
        <p className="empty">This account has no plan.</p>
      )}
      {usage && (
        <ul className="usage">
          {usage.map((row) => (
            <Feature key={row.feature} row={row} />
          ))}
        </ul>
      )}
    </Panel>
  );
}
