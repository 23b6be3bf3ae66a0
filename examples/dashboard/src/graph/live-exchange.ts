import {
  type Exchange,
  makeErrorResult,
  makeResult,
  type Operation,
  type OperationResult,
  stringifyDocument,
} from '@urql/core';
import { type LiveOptions, type LiveResult, type LiveState, live } from 'links-market-client';
import { filter, make, merge, mergeMap, pipe, takeUntil } from 'wonka';

const isLive = ({ kind, query }: Operation): boolean =>
  kind === 'query' &&
  query.definitions.some(
    (definition) =>
      'directives' in definition &&
      definition.directives?.some(({ name }) => name.value === 'live'),
  );

/**
 * Keeps queries with `@live` current; all other operations go on to the next exchange. How old an answer is comes as
 * `extensions.live`, whether it is kept current as `extensions.state`, and what it cost as `extensions.upstream`.
 */
export function liveExchange(options: Omit<LiveOptions, 'body'>): Exchange {
  const results = (operation: Operation) =>
    make<OperationResult>((observer) => {
      const { query, variables } = operation;
      let state: LiveState = 'waiting';
      let shown: LiveResult<Record<string, unknown>> | undefined;
      const tell = (result: LiveResult<Record<string, unknown>>) => {
        shown = result;
        const { data, errors, live, upstream } = result;
        observer.next(
          makeResult(operation, {
            data,
            ...(errors && { errors: [...errors] }),
            extensions: { live, state, upstream },
          }),
        );
      };
      const onState: LiveOptions['onState'] = (next, { ageMs }) => {
        state = next;
        if (!shown || ageMs === null) return;
        const { revision = 0 } = shown.live ?? {};
        tell({ ...shown, live: { revision, ageMs, nextRefreshInMs: null } });
      };
      return live<Record<string, unknown>>(
        { ...options, onState, body: { query: stringifyDocument(query), variables } },
        tell,
        ({ errors = [], status }) => {
          const error = new Error(`The status was ${status}`);
          observer.next(
            errors.length > 0
              ? makeResult(operation, { errors: [...errors], extensions: { state } })
              : makeErrorResult(operation, error),
          );
          observer.complete();
        },
      );
    });
  return ({ forward }) =>
    (operations) =>
      merge([
        pipe(
          operations,
          filter(isLive),
          // The next operation with its key takes its place, or tears it down.
          mergeMap((operation) =>
            pipe(
              results(operation),
              takeUntil(
                pipe(
                  operations,
                  filter(({ key }) => key === operation.key),
                ),
              ),
            ),
          ),
        ),
        forward(
          pipe(
            operations,
            filter((operation) => !isLive(operation)),
          ),
        ),
      ]);
}
