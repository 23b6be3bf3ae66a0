import type { Digest } from '../digest.ts';
import type { EventStream } from '../observe/event-stream.ts';
import type { Resource } from '../resources.ts';
import type { Budget } from './budget/budget.ts';
import type { Journal } from './budget/journal/journal.ts';
import type { Cache, Freshness } from './cache/cache.ts';
import type { SharedAnswers } from './cache/shared-answers.ts';
import type { ExchangeOptions } from './wire/exchange.ts';

/** What a client needs beside what an exchange does. */
export interface ClientOptions extends ExchangeOptions {
  readonly cache: Cache;
  readonly freshness: (resource: Resource) => Freshness;
  /** Requests per window and key. */
  readonly rateLimit: number;
  /** Requests that one operation may make; never more than a window has, and this many by default. */
  readonly maxCallsPerOperation?: number;
  /** Makes the parts of cache keys that stand for a request's body unreadable. */
  readonly digest: Digest;
  /** Keys whose budgets are held at a time; unlimited unless callers bring keys of their own. */
  readonly maxKeys?: number;
  /** Told of each partition that is forgotten, because its key was refused. */
  readonly onForgotten?: (partition: string) => void;
  /** Remembers what each key has spent across processes; without one, nobody spent before. */
  readonly journal?: Journal;
  /** Makes the budget of a key, where replicas share it; by default this process has its keys to itself. */
  readonly budgetOf?: ((secret: string) => Budget) | undefined;
  /** Where replicas keep answers for each other, where there are several. */
  readonly answers?: SharedAnswers | undefined;
  /** Told of what happens here. */
  readonly events?: EventStream;
}
