import type { Client } from '@urql/core';
import type { ResultOf, VariablesOf } from 'gql.tada';
import {
  type PendingWrite,
  type PendingWrites,
  pendingWrites,
  type WriteAnswer,
} from 'links-market-client';
import { useSyncExternalStore } from 'react';
import { CreateCampaign } from './documents.ts';
import { headersOf, type Settings, WAIT_SECONDS } from './settings.ts';
import { type UploadedFile, uploadFile } from './upload-file.ts';

/** What the page calls its writes in the storage of the browser. */
type Operation = 'CreateCampaign' | 'UploadFile';

/** What is known of a file, to recognize it after a reload: its content is not stored. */
export interface FileFacts {
  readonly name: string;
  readonly size: number;
  readonly lastModified: number;
}

/** A file on its way. */
interface Sending {
  readonly file: File;
  readonly onProgress: (sent: number) => void;
}

/** The writes of the page: each is made once, whatever happens between the page and the gateway. */
export interface Writes extends Omit<PendingWrites, 'send'> {
  /** Creates a campaign. 1 upstream call; more only if its answer is lost. */
  readonly createCampaign: (
    variables: VariablesOf<typeof CreateCampaign>,
  ) => Promise<WriteAnswer<ResultOf<typeof CreateCampaign>>>;
  /** Uploads a file. 1 upstream call. */
  readonly upload: (
    file: File,
    onProgress: (sent: number) => void,
  ) => Promise<WriteAnswer<UploadedFile>>;
  /** Those of an operation that have no final answer yet. */
  readonly of: (operation: Operation) => readonly PendingWrite[];
}

/** Keeps them in the storage of the browser until they have their answers. */
export function createWrites(client: Client, settings: Settings): Writes {
  const files = new Map<string, Sending>();
  const pending = pendingWrites({
    async send({ key, operation, variables }, signal) {
      const headers = {
        ...headersOf(settings.token, WAIT_SECONDS),
        'idempotency-key': `"${key}"`,
      };
      if (operation === 'UploadFile') {
        const { file, onProgress } = files.get(JSON.stringify(variables)) as Sending;
        return uploadFile(settings, file, headers, onProgress, signal);
      }
      const { data, error, extensions } = await client
        .mutation(CreateCampaign, variables as VariablesOf<typeof CreateCampaign>, {
          fetchOptions: { headers },
        })
        .toPromise();
      // With neither, there is no answer of the gateway: it is sent again.
      return { data, errors: error?.graphQLErrors, extensions };
    },
  });
  return {
    ...pending,
    createCampaign: (variables) => pending.send('CreateCampaign', variables),
    upload(file, onProgress) {
      const { lastModified, name, size } = file;
      const facts: FileFacts = { name, size, lastModified };
      const text = JSON.stringify(facts);
      files.set(text, { file, onProgress });
      return pending.send<UploadedFile>('UploadFile', facts).finally(() => files.delete(text));
    },
    of: (operation) => pending.list().filter((write) => write.operation === operation),
  };
}

/** Those of an operation, and again after each change. */
export function usePending(writes: Writes, operation: Operation): readonly PendingWrite[] {
  useSyncExternalStore(writes.subscribe, writes.list);
  return writes.of(operation);
}
