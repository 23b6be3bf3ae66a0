import type { VariablesOf } from 'gql.tada';
import { useState } from 'react';
import { Campaigns, type CreateCampaign } from '../graph/documents.ts';
import { usePatientQuery } from '../graph/use-patient-query.ts';
import { usePending, type Writes } from '../graph/writes.ts';
import { count } from '../parts/format.ts';
import { Panel, Skeleton, Trouble } from '../parts/panel.tsx';
import { CampaignForm } from './campaign-form.tsx';

/** Rows before one asks for all. */
const FEW = 6;

/** A campaign as the list has it. */
function Row({ name, about, shown }: { name: string; about: string; shown: boolean }) {
  return (
    <>
      <span className="grow">
        <span className="strong">{name}</span>
        <span className="muted block">{about}</span>
      </span>
      <span className={shown ? 'tag tag-on' : 'tag'}>{shown ? 'Public' : 'Private'}</span>
    </>
  );
}

/** The campaigns and a form for another one, which is in the list at once. 1 upstream call. */
export function CampaignsPanel({ writes }: { writes: Writes }) {
  const drafts = usePending(writes, 'CreateCampaign');
  const query = usePatientQuery(Campaigns, {});
  const [all, setAll] = useState(false);
  const campaigns = query.data?.campaigns;
  const nodes = campaigns?.nodes ?? [];
  return (
    <Panel
      title="Campaigns"
      name="campaigns"
      receipt={query.receipt}
      aside={campaigns && <span className="muted">{count(campaigns.totalCount)}</span>}
    >
      <div className="halves">
        <CampaignForm writes={writes} />
        <div>
          {query.loading && <Skeleton rows={FEW} what="the campaigns" />}
          <Trouble query={query} />
          {campaigns && nodes.length === 0 && <p className="empty">No campaigns yet.</p>}
          {drafts.length + nodes.length > 0 && (
            <ul className="rows" aria-label="Campaigns">
              {drafts.map(({ key, state, variables }) => {
                const { input } = variables as VariablesOf<typeof CreateCampaign>;
                return (
                  <li key={key} className="item draft" aria-busy={state === 'sending'}>
                    <Row
                      name={input.name ?? 'Untitled'}
                      about={state === 'expired' ? 'Not confirmed' : 'Saving…'}
                      shown={input.public === true}
                    />
                  </li>
                );
              })}
              {nodes
                .slice(0, all ? undefined : FEW)
                .map(({ id, name, public: shown, rotatorUrl }) => (
                  <li key={id} className="item">
                    <Row
                      name={name ?? 'Untitled'}
                      about={rotatorUrl ? new URL(rotatorUrl).pathname : 'No rotator'}
                      shown={shown === true}
                    />
                  </li>
                ))}
            </ul>
          )}
          {nodes.length > FEW && (
            <button type="button" className="quiet" onClick={() => setAll(!all)}>
              {all ? 'Show fewer' : `Show all ${nodes.length}`}
            </button>
          )}
        </div>
      </div>
    </Panel>
  );
}
