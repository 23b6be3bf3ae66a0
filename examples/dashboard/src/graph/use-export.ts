import { stringifyDocument } from '@urql/core';
import type { ResultOf } from 'gql.tada';
import { useState } from 'react';
import { useMutation } from 'urql';
import { LatestJobs, QrExport, StartExport, TurnExport } from './documents.ts';
import { download } from './download.ts';
import { type CodedError, errorsOf } from './errors.ts';
import type { Settings } from './settings.ts';
import { usePatientQuery } from './use-patient-query.ts';

/** An export of QR codes, which runs in the gateway. */
export type ExportJob = ResultOf<typeof LatestJobs>['jobs']['nodes'][number];

/** The latest export of QR codes, and what can be done about it. */
export interface QrCodesExport {
  /** Absent if there is none. */
  readonly job: ExportJob | undefined;
  /** Whether it is not known yet. */
  readonly loading: boolean;
  /** Whether the latest action has no answer yet. */
  readonly busy: boolean;
  /** Those of the latest action, otherwise those of the job's progress. */
  readonly errors: readonly CodedError[];
  readonly start: (statistics: boolean) => void;
  /** Cancels the job, or resumes it. */
  readonly turn: (id: string, ends: boolean) => void;
  /** Saves the file at a path of the gateway. */
  readonly save: (path: string) => void;
}

/**
 * Starts exports as jobs, and follows the latest one by a live query: also one that was started before the page was
 * loaded. Each action costs nothing; the job takes what others leave of the budget.
 */
export function useExport(settings: Settings): QrCodesExport {
  const [started, setStarted] = useState<string>();
  const [errors, setErrors] = useState<readonly CodedError[]>([]);
  const [starting, startExport] = useMutation(StartExport);
  const [turning, turnExport] = useMutation(TurnExport);
  const latest = usePatientQuery(LatestJobs, {});

  const start = async (statistics: boolean): Promise<void> => {
    const query = stringifyDocument(QrExport);
    const input = { query, variables: { statistics }, format: 'CSV' } as const;
    const { data, error } = await startExport({ input });
    const result = data?.startExport;
    if (result?.__typename === 'Job') setStarted(result.id);
    setErrors(result?.__typename === 'InvalidInput' ? [result] : errorsOf(error));
  };
  const turn = async (id: string, ends: boolean): Promise<void> =>
    setErrors(errorsOf((await turnExport({ id, ends })).error));
  const save = (path: string): Promise<void> =>
    download(settings, path, 'qr-codes.csv').then(
      () => setErrors([]),
      (error: Error) => setErrors([error]),
    );
  return {
    job: latest.data?.jobs.nodes.find(({ id, name }) =>
      started ? id === started : name === 'qrCodes',
    ),
    loading: latest.loading,
    busy: starting.fetching || turning.fetching,
    errors: errors.length > 0 ? errors : latest.errors,
    start: (statistics) => void start(statistics),
    turn: (id, ends) => void turn(id, ends),
    save: (path) => void save(path),
  };
}
