import {
  type Exchange,
  makeErrorResult,
  makeResult,
  type Operation,
  type OperationResult,
  stringifyDocument,
} from '@urql/core';
import { filter, make, merge, mergeMap, pipe, takeUntil } from 'wonka';
import { type LiveOptions, live } from '../../../../client/live.ts';

const isLive = ({ kind, query }: Operation): boolean =>
  kind === 'query' &&
  query.definitions.some(
    (definition) =>
      'directives' in definition &&
      definition.directives?.some(({ name }) => name.value === 'live'),
  );

/**
 * Keeps queries with `@live` current; all other operations go on to the next exchange. How old an answer is
 * comes as `extensions.live`, and what it cost as `extensions.upstream`.
 */
export function liveExchange(options: Omit<LiveOptions, 'body'>): Exchange {
  const results = (operation: Operation) =>
    make<OperationResult>((observer) => {
      const { query, variables } = operation;
      return live<Record<string, unknown>>(
        { ...options, body: { query: stringifyDocument(query), variables } },
        ({ data, errors, live, upstream }) =>
          observer.next(
            makeResult(operation, {
              data,
              ...(errors && { errors: [...errors] }),
              extensions: { live, upstream },
            }),
          ),
        ({ errors = [], status }) => {
          const error = new Error(`The status was ${status}`);
          observer.next(
            errors.length > 0
              ? makeResult(operation, { errors: [...errors] })
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
