import { isQuery } from '../agent-graph.ts';
import { priceText } from '../answers/cost-line.ts';
import type { Approvals } from '../changes/approvals.ts';
import { CONFIRMED_MS } from '../changes/confirmations.ts';
import type { ReadOptions } from './read.ts';
import { type AgentTool, OPERATION, objectSchema, operationIn, READS } from './tool.ts';

/**
 * `graph_price`: what an operation would cost now and, for a mutation, its effects with a confirmation. Costs no upstream
 * request.
 */
export function priceTool({
  approvals,
  graph,
}: ReadOptions & { readonly approvals: Approvals }): AgentTool {
  return {
    name: 'graph_price',
    title: 'Price an operation',
    description:
      'What an operation would cost, without executing it: upstream calls, when it starts, whether it fits the limits. For a mutation also its effects, to show to the person, and the confirmation that graph_change needs.',
    input: objectSchema(OPERATION, ['operation']),
    annotations: READS,
    async run(call, args) {
      const operation = graph.parse(operationIn(args));
      const change = !isQuery(operation) ? await approvals.want(call.viewer, operation) : null;
      const { errors, plan } = await graph.plan(call, operation);
      const price = plan && {
        price: priceText(plan),
        calls: plan.calls,
        exact: plan.exact,
        fits: plan.fits,
        startsInMs: plan.startsInMs,
        fromCache: plan.saved.cache,
      };
      const isRefused = plan === null || errors.length > 0;
      const approval =
        change && !isRefused
          ? {
              effects: await approvals.effects(call.viewer, change),
              ...(change.needsConfirmation && {
                confirmation: approvals.confirmationOf(change),
                validSeconds: CONFIRMED_MS / 1000,
              }),
            }
          : {};
      const json = {
        ...price,
        ...approval,
        ...(errors.length > 0 ? { errors } : {}),
      };
      return { kind: 'text', text: JSON.stringify(json), isError: isRefused };
    },
  };
}
