import { AnswerJson } from '../../answers/answer-json.ts';
import type { GatewayPlugin } from '../request-record.ts';

/** Has each whole answer serialised once, by Yoga for the response, and keeps the text for those that need it too. */
export function useSerialization(): GatewayPlugin {
  return {
    onResultProcess(payload) {
      const { result, serverContext } = payload;
      if (Symbol.asyncIterator in result || Array.isArray(result)) return;
      // Yoga calls it with what it shows of the result.
      const stringify = (shown: object): string => {
        const json = new AnswerJson(shown);
        serverContext.record.json = json;
        return json.text;
      };
      const serialisable = { ...result, stringify };
      payload.setResult(serialisable);
    },
  };
}
