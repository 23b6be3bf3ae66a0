// The part of undici that `undici.ts` imports, which has no types.

declare module 'undici/lib/dispatcher/agent.js' {
  import { Agent } from 'undici';
  export default Agent;
}
