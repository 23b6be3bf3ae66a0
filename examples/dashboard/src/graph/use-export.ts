import { type CombinedError, stringifyDocument } from '@urql/core';
import type { ResultOf } from 'gql.tada';
import { useState } from 'react';
import { useMutation } from 'urql';
import {
  CancelExport,
  ExportProgress,
  LatestJobs,
  QrExport,
  ResumeExport,
  StartExport,
} from './documents.ts';
import { type CodedError, errorsOf } from './errors.ts';
import { usePatientQuery } from './use-patient-query.ts';

/** An export of QR codes, which runs in the gateway. */
export type ExportJob = NonNullable<ResultOf<typeof ExportProgress>['job']>;

/** The latest export of QR codes, and what can be done about it. */
export interface QrCodesExport {
  /** `null` if there is none. */
  readonly job: ExportJob | null;
  /** Whether it is not known yet. */
  readonly loading: boolean;
  /** Whether the latest action has no answer yet. */
  readonly busy: boolean;
  /** Those of the latest action, otherwise those of the job's progress. */
  readonly errors: readonly CodedError[];
  readonly start: (statistics: boolean) => void;
  readonly resume: (id: string) => void;
  readonly cancel: (id: string) => void;
}

/**
 * Starts exports as jobs, and follows the latest one by a live query: also one that was started before the page was
 * loaded. Each action costs nothing; the job takes what others leave of the budget.
 */
export function useExport(): QrCodesExport {
  const [started, setStarted] = useState<string>();
  const [errors, setErrors] = useState<readonly CodedError[]>([]);
  const [starting, startExport] = useMutation(StartExport);
  const [resuming, resumeExport] = useMutation(ResumeExport);
  const [canceling, cancelExport] = useMutation(CancelExport);
  const latest = usePatientQuery(LatestJobs, {});
  const found = latest.data?.jobs.nodes.find(
    (job) => job.kind === 'EXPORT' && job.name === 'qrCodes',
  );
  const id = started ?? found?.id ?? '';
  const progress = usePatientQuery(ExportProgress, { id }, { pause: id === '' });
  const { job } = progress.data ?? {};

  const start = async (statistics: boolean): Promise<void> => {
    const query = stringifyDocument(QrExport);
    const input = { query, variables: { statistics }, format: 'CSV' } as const;
    const { data, error } = await startExport({ input });
    const result = data?.startExport;
    if (result?.__typename === 'Job') setStarted(result.id);
    setErrors(result?.__typename === 'InvalidInput' ? [result] : errorsOf(error));
  };
  const ended = ({ error }: { readonly error?: CombinedError | undefined }): void =>
    setErrors(errorsOf(error));
  return {
    // Of another job, until the next one has come.
    job: job?.id === id ? job : null,
    loading: latest.loading || (id !== '' && progress.loading),
    busy: starting.fetching || resuming.fetching || canceling.fetching,
    errors: errors.length > 0 ? errors : [...latest.errors, ...progress.errors],
    start: (statistics) => void start(statistics),
    resume: (id) => void resumeExport({ id }).then(ended),
    cancel: (id) => void cancelExport({ id }).then(ended),
  };
}
