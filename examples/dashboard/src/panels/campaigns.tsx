import { useState } from 'react';
import { isDraft } from '../graph/client.ts';
import { Campaigns } from '../graph/documents.ts';
import { usePatientQuery } from '../graph/use-patient-query.ts';
import { count } from '../parts/format.ts';
import { Panel, Skeleton, Trouble } from '../parts/panel.tsx';
import { CampaignForm } from './campaign-form.tsx';

/** Rows before one asks for all. */
const FEW = 6;

/** The campaigns and a form for another one, which is in the list at once. 1 upstream call. */
export function CampaignsPanel() {
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
        <CampaignForm />
        <div>
          {query.loading && <Skeleton rows={FEW} what="the campaigns" />}
          <Trouble query={query} />
          {campaigns && nodes.length === 0 && <p className="empty">No campaigns yet.</p>}
          {nodes.length > 0 && (
            <ul className="rows" aria-label="Campaigns">
              {nodes.slice(0, all ? undefined : FEW).map((campaign) => (
                <li
                  key={campaign.id}
                  className={isDraft(campaign) ? 'item draft' : 'item'}
                  aria-busy={isDraft(campaign)}
                >
                  <span className="grow">
                    <span className="strong">{campaign.name ?? 'Untitled'}</span>
                    <span className="muted block">
                      {isDraft(campaign)
                        ? 'Saving…'
                        : campaign.rotatorUrl
                          ? new URL(campaign.rotatorUrl).pathname
                          : 'No rotator'}
                    </span>
                  </span>
                  <span className={campaign.public ? 'tag tag-on' : 'tag'}>
                    {campaign.public ? 'Public' : 'Private'}
                  </span>
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
