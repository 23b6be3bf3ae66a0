import type { AgentGraph } from '../agent-graph.ts';
import { priceText } from '../cost-line.ts';
import { type AgentTool, OPERATION, objectSchema, operationIn, READS } from './tool.ts';

/** `graph_price`: what an operation would cost now. Costs no upstream request. */
export function priceTool(graph: AgentGraph): AgentTool {
  return {
    name: 'graph_price',
    title: 'Price an operation',
    description:
      'What an operation would cost, without executing it: upstream calls, when it starts, whether it fits the limits.',
    input: objectSchema(OPERATION, ['operation']),
    annotations: READS,
    async run(call, args) {
      const operation = graph.parse(operationIn(args));
      const { errors, plan } = await graph.execute(call, operation, { isDryRun: true });
      const price = plan && {
        price: priceText(plan),
        calls: plan.calls,
        exact: plan.exact,
        fits: plan.fits,
        startsInMs: plan.startsInMs,
        fromCache: plan.saved.cache,
      };
      const json = { ...price, ...(errors.length > 0 ? { errors } : {}) };
      return { text: JSON.stringify(json), isError: plan === null || errors.length > 0 };
    },
  };
}
