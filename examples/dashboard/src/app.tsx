import { Overview } from './graph/documents.ts';
import type { Settings } from './graph/settings.ts';
import { usePatientQuery } from './graph/use-patient-query.ts';
import type { Writes } from './graph/writes.ts';
import { AccountPanel } from './panels/account.tsx';
import { BudgetMeters } from './panels/budget-meter.tsx';
import { CampaignsPanel } from './panels/campaigns.tsx';
import { ChannelsPanel } from './panels/channels.tsx';
import { DemoControls } from './panels/demo-controls.tsx';
import { ExportPanel } from './panels/export.tsx';
import { UsagePanel } from './panels/plan-usage.tsx';
import { PurchasePanel } from './panels/purchase.tsx';
import { QrPanel } from './panels/qr-codes.tsx';
import { UploadPanel } from './panels/upload.tsx';

/** The whole page. Its first view costs 11 upstream calls at most, the next one none. */
export function App({ settings, writes }: { settings: Settings; writes: Writes }) {
  const overview = usePatientQuery(Overview, {});
  return (
    <>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="top">
        <div className="brand">
          <img src="/icon.svg" alt="" width="28" height="28" />
          <h1>Studio dashboard</h1>
        </div>
        <BudgetMeters />
      </header>
      <main id="main" tabIndex={-1}>
        <AccountPanel overview={overview} />
        <QrPanel />
        <ChannelsPanel overview={overview} />
        <UsagePanel />
        <CampaignsPanel writes={writes} />
        <PurchasePanel />
        <UploadPanel writes={writes} />
        <ExportPanel settings={settings} />
      </main>
      <DemoControls settings={settings} />
    </>
  );
}
